// SPDX-License-Identifier: Apache-2.0
//! What fuzzers need of the log: a segment whose checksums are made right again, so that damage reaches the decoders.

use std::path::Path;
use std::sync::Arc;

use basalt_model::{Seq, TableId, WriteBatch};

use super::frame::{self, FRAME_HEADER, SEGMENT_HEADER, Section, SectionRows};
use super::recover::{LogReader, Progress, Replay};
use super::writer::{LogWriter, Payload};
use crate::env::sim::SimStorage;
use crate::env::{Env, SyncKind};
use crate::error::{Error, Result};
use crate::ids::RegionId;
use crate::layout;
use crate::workers::Workers;

pub(super) const LOG_ID: u64 = 77;
pub(super) const ROOT: &str = "/db";

/// Reads a segment as recovery does, strictly and passing over damage; a strict reading that succeeds says the same.
pub(crate) fn read(bytes: Vec<u8>) {
    let storage = SimStorage::new(1);
    let env = Env::with_storage(Arc::new(storage.clone()));
    let (root, path) = (Path::new(ROOT), layout::segment_path(Path::new(ROOT), 1));
    env.storage.create_dir(&root.join(layout::WAL_DIR)).expect("the file system is in memory");
    storage.create_if_missing(&path);
    storage.overwrite(&path, bytes).expect("it was made above");
    let read = |skip_damage| {
        let (mut rows, mut cells) = (0, 0);
        let table_name: &dyn Fn(TableId) -> Option<String> = &|_| None;
        let (env, workers) = (&env, &Workers::new(env.clone(), 0));
        let reader =
            LogReader { env, root, log_id: LOG_ID, first_segment: 1, skip_damage, table_name, workers };
        let prepare = Arc::new(|sections: Vec<Section>, _| sections);
        let apply: &mut dyn FnMut(Vec<Section>, Progress) -> Result<()> = &mut |sections, _| {
            for row in sections.iter().flat_map(|section| &section.rows) {
                rows += 1;
                cells += row.borrow().cells(Seq(1)).count();
                assert_eq!(row.borrow().cells(Seq(1)).count(), row.borrow().cell_count());
            }
            Ok(())
        };
        let found = reader.read(Replay { prepare, apply });
        found.map(|found| (found.frames, rows, cells))
    };
    match (read(false), read(true)) {
        (Ok(strict), lenient) => assert_eq!(Some(strict), lenient.ok()),
        (Err(Error::Corrupt(_)), lenient) => assert!(lenient.is_ok()),
        (Err(_), _) => {}
    }
}

/// Makes the checksums of header, frames and sections right as far as they can be found.
pub(crate) fn reseal(bytes: &mut [u8]) {
    let Some(header) = bytes.get_mut(..SEGMENT_HEADER) else { return };
    header.copy_from_slice(&frame::encode_segment_header(1, LOG_ID));
    let mut at = SEGMENT_HEADER;
    while at + FRAME_HEADER <= bytes.len() {
        let (frame, payload) = bytes[at..].split_at_mut(FRAME_HEADER);
        frame[..4].copy_from_slice(frame::FRAME_MAGIC);
        frame[8..16].copy_from_slice(&1u64.to_le_bytes());
        frame[16..24].copy_from_slice(&(at as u64).to_le_bytes());
        let len = u32::from_le_bytes(frame[32..36].try_into().expect("4 bytes")) as usize;
        let sum = seal(&frame[8..]);
        frame[4..8].copy_from_slice(&sum.to_le_bytes());
        let len = len.min(payload.len());
        reseal_sections(&mut payload[..len]);
        at += FRAME_HEADER + len;
    }
}

fn reseal_sections(mut rest: &mut [u8]) {
    let number = |bytes: &[u8], at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0usize, |number, &byte| number << 8 | usize::from(byte))
    };
    while let Some(header) = rest.get(..48) {
        let keys_end = 48 + number(header, 40, 2) + number(header, 42, 2);
        let end = keys_end + number(header, 36, 4);
        if end > rest.len() {
            return;
        }
        let (section, behind) = rest.split_at_mut(end);
        let body = crc32c::crc32c(&section[keys_end..]);
        section[4..8].copy_from_slice(&body.to_le_bytes());
        let sum = seal(&section[4..keys_end]);
        section[..4].copy_from_slice(&sum.to_le_bytes());
        rest = behind;
    }
}

fn seal(bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&LOG_ID.to_le_bytes()), bytes)
}

/// A sound segment: three commits and the mark of an orderly end.
pub(crate) fn segment() -> Vec<u8> {
    let storage = SimStorage::new(1);
    let env = Env::with_storage(Arc::new(storage.clone()));
    env.storage.create_dir(&Path::new(ROOT).join(layout::WAL_DIR)).expect("the file system is in memory");
    let mut writer = LogWriter::new(env, ROOT.into(), LOG_ID, 1 << 20, Vec::new(), 1);
    for seq in 1..=3 {
        writer.append(payload(seq)).expect("nothing fails");
        writer.sync(SyncKind::Data).expect("nothing fails");
    }
    writer.mark();
    writer.trim().expect("nothing fails");
    storage.read(&layout::segment_path(Path::new(ROOT), 1)).expect("it was written above")
}

/// Two rows of one cell each, whose value is the number.
pub(super) fn payload(seq: u64) -> Payload {
    let mut batch = WriteBatch::new();
    for row in [format!("row{seq}a"), format!("row{seq}b")] {
        let mut builder = batch.row(TableId(5), row.as_bytes()).expect("a row key");
        builder.put(b"f", b"q", 1, seq.to_string().as_bytes()).expect("a cell");
        builder.finish();
    }
    let batch = batch.freeze();
    let row = |i: usize| batch.rows[i].1.borrow().row();
    let rows = SectionRows { count: 2, first: row(0), last: row(1) };
    let mut payload = Payload {
        section_count: 1,
        seq_first: Seq(seq),
        seq_last: Seq(seq),
        table: TableId(5),
        ..Payload::default()
    };
    let of = (Seq(seq), TableId(5), RegionId(6));
    frame::encode_section(&mut payload.bytes, LOG_ID, of, rows, &batch.bytes);
    payload
}
