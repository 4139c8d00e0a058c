// SPDX-License-Identifier: Apache-2.0
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_model::{Seq, TableId};

use super::frame::{FRAME_HEADER, SEGMENT_HEADER, Section};
use super::fuzzed::{LOG_ID, ROOT, payload};
use super::recover::{LogReader, Progress, Recovered, Replay, repair};
use super::writer::LogWriter;
use crate::env::sim::{Fault, FaultPlan, SimStorage};
use crate::env::{Env, SyncKind};
use crate::workers::Workers;
use crate::{Error, Result};

struct Log {
    storage: SimStorage,
    env: Env,
}

impl Log {
    fn new(storage: SimStorage) -> Self {
        let env = Env::with_storage(Arc::new(storage.clone()));
        env.storage.create_dir(&Path::new(ROOT).join("wal")).unwrap();
        Self { storage, env }
    }

    fn writer(&self, segment_bytes: u64) -> LogWriter {
        LogWriter::new(self.env.clone(), ROOT.into(), LOG_ID, segment_bytes, Vec::new(), 1)
    }

    fn segment(number: u64) -> PathBuf {
        crate::layout::segment_path(Path::new(ROOT), number)
    }

    fn read(&self, skip_damage: bool) -> Result<(Vec<u64>, Recovered)> {
        let mut seqs = Vec::new();
        let table_name: &dyn Fn(TableId) -> Option<String> = &|_| Some("T".into());
        let (env, root) = (&self.env, Path::new(ROOT));
        let workers = &Workers::new(self.env.clone(), 2);
        let reader =
            LogReader { env, root, log_id: LOG_ID, first_segment: 1, skip_damage, table_name, workers };
        let prepare = Arc::new(|sections: Vec<Section>, _| sections);
        let apply: &mut dyn FnMut(Vec<Section>, Progress) -> Result<()> = &mut |sections, _| {
            for section in sections {
                assert_eq!((section.table, section.rows.len()), (TableId(5), 2));
                let value = section.seq.0.to_string();
                for row in &section.rows {
                    assert_eq!(row.borrow().cells(Seq(0)).next().unwrap().value, value.as_bytes());
                }
                seqs.push(section.seq.0);
            }
            Ok(())
        };
        let found = reader.read(Replay { prepare, apply })?;
        Ok((seqs, found))
    }
}

/// Three synced frames in one segment; `closed` adds the mark of an orderly end.
fn three_frames(closed: bool) -> (Log, Vec<u8>) {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    for seq in 1..=3 {
        writer.append(payload(seq)).unwrap();
        writer.sync(SyncKind::Data).unwrap();
    }
    if closed {
        writer.mark();
    }
    writer.trim().unwrap();
    let bytes = log.storage.read(&Log::segment(1)).unwrap();
    (log, bytes)
}

#[test]
fn what_was_written_is_read_back_over_segments() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(300);
    for seq in 1..=20 {
        writer.append(payload(seq)).unwrap();
    }
    writer.sync(SyncKind::Data).unwrap();
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, (1..=20).collect::<Vec<_>>());
    assert!(found.segments.len() > 3 && found.damage.is_empty());
    let torn = found.torn.expect("zeros to be written over");
    assert!(torn.blank && torn.path == Log::segment(found.segments.last().unwrap().number));
    assert_eq!(found.next_segment, found.segments.last().unwrap().number + 1);
    assert_eq!(found.seq_last, Seq(20));
}

#[test]
fn a_tail_torn_at_any_byte_loses_only_the_frame_it_tears() {
    let (log, bytes) = three_frames(false);
    let frame = (bytes.len() - SEGMENT_HEADER) / 3;
    for len in 0..=bytes.len() {
        log.storage.overwrite(&Log::segment(1), bytes[..len].to_vec()).unwrap();
        let (seqs, found) = log.read(false).unwrap();
        let whole = len.saturating_sub(SEGMENT_HEADER) / frame;
        assert_eq!(seqs, (1..=whole as u64).collect::<Vec<_>>(), "cut to {len}");
        repair(&log.env, Path::new(ROOT), &found).unwrap();
        let (again, clean) = log.read(false).unwrap();
        assert!(again == seqs && clean.torn.is_none(), "repaired after a cut to {len}");
        log.storage.create_if_missing(&Log::segment(1));
    }
}

#[test]
fn zeros_are_written_over_and_cut_off_at_the_end() {
    let log = Log::new(SimStorage::new(1));
    let size = |number| log.storage.read(&Log::segment(number)).unwrap().len() as u64;
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    let reserved = size(1);
    assert!(reserved >= 64 << 10, "{reserved}");
    let mut sizes = Vec::new();
    for seq in 2..=2_000 {
        writer.append(payload(seq)).unwrap();
        sizes.push(size(1));
    }
    sizes.dedup();
    assert!((2..8).contains(&sizes.len()), "the file grew to {sizes:?}");
    writer.sync(SyncKind::Data).unwrap();
    writer.finish_segment().unwrap();
    writer.append(payload(2_001)).unwrap();
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, (1..=2_001).collect::<Vec<_>>());
    assert_eq!(found.segments[0].size_bytes, size(1), "nothing is left behind the last frame");
    assert!(found.torn.as_ref().unwrap().blank && found.segments[1].size_bytes < size(2));
    repair(&log.env, Path::new(ROOT), &found).unwrap();
    assert_eq!((log.read(false).unwrap().1.torn, size(2)), (None, found.segments[1].size_bytes));
}

#[test]
fn a_segment_is_not_followed_before_its_zeros_are_gone_for_good() {
    for seed in 1..=50 {
        let log = Log::new(SimStorage::new(seed));
        let mut writer = log.writer(1 << 20);
        writer.append(payload(1)).unwrap();
        writer.sync(SyncKind::Data).unwrap();
        writer.finish_segment().unwrap();
        writer.append(payload(2)).unwrap();
        let log = Log::new(log.storage.power_loss());
        let (seqs, found) = log.read(false).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert!(seqs.starts_with(&[1]) && found.damage.is_empty(), "seed {seed}");
    }
}

#[test]
fn a_segment_whose_zeros_cannot_be_cut_off_stays_open() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    writer.sync(SyncKind::Data).unwrap();
    log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::Io }));
    assert!(writer.finish_segment().is_err());
    log.storage.set_faults(None);
    writer.append(payload(2)).unwrap();
    writer.sync(SyncKind::Data).unwrap();
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!((seqs, found.segments.len()), (vec![1, 2], 1));
}

#[test]
fn every_flipped_bit_of_a_closed_log_is_noticed_or_harmless() {
    let (log, bytes) = three_frames(true);
    let mark_at = bytes.len() - FRAME_HEADER;
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        log.storage.overwrite(&Log::segment(1), flipped).unwrap();
        match log.read(false) {
            Err(Error::Corrupt(corruption)) => {
                assert!(bit / 8 < mark_at, "bit {bit}");
                if bit / 8 >= SEGMENT_HEADER {
                    assert_eq!(corruption.table.as_deref(), Some("T"), "bit {bit}: {corruption}");
                }
            }
            Ok((seqs, _)) => {
                // The mark holds no data; a damaged one is cut off.
                assert!(bit / 8 >= mark_at && seqs == [1, 2, 3], "bit {bit} gave {seqs:?}");
            }
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
}

#[test]
fn damage_in_the_middle_names_the_rows_and_can_be_skipped() {
    let (log, mut bytes) = three_frames(true);
    let frame = (bytes.len() - SEGMENT_HEADER - FRAME_HEADER) / 3;
    let at = SEGMENT_HEADER + frame;
    bytes[at + frame - 1] ^= 1;
    log.storage.overwrite(&Log::segment(1), bytes).unwrap();
    let Err(Error::Corrupt(corruption)) = log.read(false) else { panic!("not noticed") };
    assert_eq!(corruption.offset, at as u64);
    assert_eq!(corruption.range.as_ref().unwrap().start, "row2a");
    assert!(corruption.range.as_ref().unwrap().contains(b"row2b"));
    let (seqs, found) = log.read(true).unwrap();
    assert_eq!(seqs, [1, 3]);
    assert_eq!(found.damage, [(*corruption).clone()]);
}

#[test]
fn damage_before_a_later_segment_is_never_a_torn_tail() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1);
    writer.append(payload(1)).unwrap();
    writer.append(payload(2)).unwrap();
    let bytes = log.storage.read(&Log::segment(1)).unwrap();
    log.storage.overwrite(&Log::segment(1), bytes[..bytes.len() - 1].to_vec()).unwrap();
    assert!(matches!(log.read(false), Err(Error::Corrupt(_))));
    assert_eq!(log.read(true).unwrap().0, [2]);
    log.env.storage.remove(&Log::segment(1)).unwrap();
    let Err(Error::Corrupt(corruption)) = log.read(false) else { panic!("the gap was not noticed") };
    assert!(corruption.to_string().contains("missing"), "{corruption}");
}

#[test]
fn unsynced_frames_may_vanish_out_of_order_without_alarm() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    for seq in 1..=3 {
        writer.append(payload(seq)).unwrap();
    }
    writer.trim().unwrap();
    let mut bytes = log.storage.read(&Log::segment(1)).unwrap();
    let frame = (bytes.len() - SEGMENT_HEADER) / 3;
    bytes[SEGMENT_HEADER + frame..SEGMENT_HEADER + 2 * frame].fill(0);
    log.storage.overwrite(&Log::segment(1), bytes).unwrap();
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, [1]);
    assert_eq!(found.torn.unwrap().offset, (SEGMENT_HEADER + frame) as u64);
}

#[test]
fn a_partial_frame_is_cut_off_and_the_log_goes_on() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::ShortWrite }));
    assert!(matches!(writer.append(payload(2)), Err(Error::OutOfSpace { .. })));
    log.storage.set_faults(None);
    writer.append(payload(3)).unwrap();
    writer.sync(SyncKind::Data).unwrap();
    assert_eq!(log.read(false).unwrap().0, [1, 3]);
}

#[test]
fn without_room_for_zeros_frames_are_appended() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    writer.finish_segment().unwrap();
    // The calls to come: create, sync_dir, the header, the zeros.
    log.storage.set_faults(Some(FaultPlan { at: 4, calls: 1, fault: Fault::Full }));
    writer.append(payload(2)).unwrap();
    assert_eq!(log.storage.injected(), 1);
    let size = log.storage.read(&Log::segment(2)).unwrap().len();
    assert!(size < 1 << 10, "{size} bytes");
    log.storage.set_faults(None);
    writer.append(payload(3)).unwrap();
    assert_eq!(log.read(false).unwrap().0, [1, 2, 3]);
}

#[test]
fn after_a_failed_sync_the_log_takes_nothing_more() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::LostSync }));
    assert!(matches!(writer.sync(SyncKind::Data), Err(Error::LogFailed { .. })));
    log.storage.set_faults(None);
    assert!(matches!(writer.append(payload(2)), Err(Error::LogFailed { .. })));
    assert!(matches!(writer.sync(SyncKind::Data), Err(Error::LogFailed { .. })));
}

#[test]
fn a_sync_beside_appends_makes_durable_what_was_there_when_it_was_asked_for() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    let sync = writer.pending_sync().unwrap();
    writer.append(payload(2)).unwrap();
    sync.run(SyncKind::Data).unwrap();
    assert!(writer.has_unsynced(), "the second frame");
    writer.append(payload(3)).unwrap();
    writer.trim().unwrap();
    // The third frame says that the first was durable, and nothing of the second.
    let bytes = log.storage.read(&Log::segment(1)).unwrap();
    let frame = (bytes.len() - SEGMENT_HEADER) / 3;
    let damaged = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at..at + frame].fill(0);
        log.storage.overwrite(&Log::segment(1), bytes).unwrap();
        log.read(false)
    };
    assert!(matches!(damaged(SEGMENT_HEADER), Err(Error::Corrupt(_))));
    assert_eq!(damaged(SEGMENT_HEADER + frame).unwrap().0, [1]);
    log.storage.overwrite(&Log::segment(1), bytes.clone()).unwrap();
    writer.sync(SyncKind::Data).unwrap();
    assert!(!writer.has_unsynced());
}

#[test]
fn a_sync_that_waits_behind_a_failed_one_fails_with_it() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    let (first, second) = (writer.pending_sync().unwrap(), writer.pending_sync().unwrap());
    log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::LostSync }));
    assert!(matches!(first.run(SyncKind::Data), Err(Error::LogFailed { .. })));
    log.storage.set_faults(None);
    assert!(matches!(second.run(SyncKind::Data), Err(Error::LogFailed { .. })));
    assert!(matches!(writer.append(payload(2)), Err(Error::LogFailed { .. })));
}

#[test]
fn the_next_segment_is_made_while_the_open_one_takes_frames() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(500);
    writer.append(payload(1)).unwrap();
    assert!(writer.segment_wish().is_none(), "there is room");
    writer.append(payload(2)).unwrap();
    let wish = writer.segment_wish().expect("the segment is nearly full");
    assert!(writer.segment_wish().is_none(), "one at a time");
    for seq in 3..=6 {
        writer.append(payload(seq)).unwrap();
    }
    let segment = wish.create();
    writer.append(payload(7)).unwrap();
    assert_eq!(log.read(false).unwrap().1.useless, [2], "a file without a header");
    writer.go_on_in(segment).unwrap();
    assert!(!writer.has_unsynced(), "the header says so");
    assert_eq!(log.read(false).unwrap().1.segments.len(), 2, "the header stays");
    writer.append(payload(8)).unwrap();
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, (1..=8).collect::<Vec<_>>());
    assert_eq!(found.segments.iter().map(|segment| segment.number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_log_that_is_nothing_but_a_header_is_none() {
    let (log, bytes) = three_frames(true);
    // With the beginning of a frame that was never finished, and without.
    for len in [SEGMENT_HEADER + 7, SEGMENT_HEADER] {
        log.storage.create_if_missing(&Log::segment(1));
        log.storage.overwrite(&Log::segment(1), bytes[..len].to_vec()).unwrap();
        let (seqs, found) = log.read(false).unwrap();
        assert_eq!((seqs, &found.segments[..], &found.useless[..]), (vec![], &[][..], &[1][..]));
        assert_eq!(found.next_segment, 1);
        repair(&log.env, Path::new(ROOT), &found).unwrap();
        assert!(log.storage.files().is_empty());
    }
}

#[test]
fn a_segment_that_could_not_be_made_is_made_later() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(200);
    writer.append(payload(1)).unwrap();
    writer.append(payload(2)).unwrap();
    let wish = writer.segment_wish().expect("the segment is nearly full");
    log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::Full }));
    assert!(matches!(writer.go_on_in(wish.create()), Err(Error::OutOfSpace { .. })));
    log.storage.set_faults(None);
    for seq in 3..=6 {
        writer.append(payload(seq)).unwrap();
    }
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, (1..=6).collect::<Vec<_>>());
    assert!(found.segments.len() > 1);
}

#[test]
fn a_header_that_was_never_durable_may_vanish_before_its_frames() {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(1 << 20);
    writer.append(payload(1)).unwrap();
    writer.finish_segment().unwrap();
    writer.append(payload(2)).unwrap();
    let without_header = || {
        let mut bytes = log.storage.read(&Log::segment(2)).unwrap();
        bytes[..SEGMENT_HEADER].fill(0);
        log.storage.overwrite(&Log::segment(2), bytes).unwrap();
        log.read(false)
    };
    let (seqs, found) = without_header().unwrap();
    assert_eq!((seqs, found.useless), (vec![1], vec![2]));
    writer.sync(SyncKind::Data).unwrap();
    writer.append(payload(3)).unwrap();
    let Err(Error::Corrupt(corruption)) = without_header() else { panic!("not noticed") };
    assert!(corruption.to_string().contains("header"), "{corruption}");
}

#[test]
fn what_recovery_read_stays_although_a_failed_sync_gave_it_up() {
    for seed in 1..=50 {
        let log = Log::new(SimStorage::new(seed));
        let mut writer = log.writer(1 << 20);
        writer.append(payload(1)).unwrap();
        writer.sync(SyncKind::Data).unwrap();
        writer.append(payload(2)).unwrap();
        log.storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::LostSync }));
        writer.sync(SyncKind::Data).unwrap_err();
        log.storage.set_faults(None);
        let (seqs, found) = log.read(false).unwrap();
        assert_eq!(seqs, [1, 2], "the pages are still there");
        repair(&log.env, Path::new(ROOT), &found).unwrap();
        let log = Log::new(log.storage.power_loss());
        assert_eq!(log.read(false).unwrap().0, [1, 2], "seed {seed}");
    }
}

#[test]
fn a_copy_of_a_segment_that_was_not_finished_is_removed() {
    let (log, _) = three_frames(false);
    let copy = crate::layout::segment_temporary_path(&Log::segment(1));
    log.storage.create_if_missing(&copy);
    let (_, found) = log.read(false).unwrap();
    assert_eq!(found.unfinished, [copy]);
    repair(&log.env, Path::new(ROOT), &found).unwrap();
    assert_eq!(log.storage.files(), [Log::segment(1)]);
}

#[test]
fn a_log_of_another_database_is_not_taken_for_ours() {
    let (log, bytes) = three_frames(true);
    let mut foreign = bytes.clone();
    foreign[16] ^= 1;
    log.storage.overwrite(&Log::segment(1), foreign).unwrap();
    assert!(matches!(log.read(false), Err(Error::Corrupt(_))));
}

/// Frames that are read in several stretches, and where the damaged one begins; `synced` says so in the log.
fn many_frames_and_a_damaged_one(synced: bool) -> (Log, u64) {
    let log = Log::new(SimStorage::new(1));
    let mut writer = log.writer(64 << 20);
    for seq in 1..=FRAMES {
        writer.append(payload(seq)).unwrap();
    }
    if synced {
        writer.sync(SyncKind::Data).unwrap();
        writer.mark();
    }
    let mut bytes = log.storage.read(&Log::segment(1)).unwrap();
    assert!(bytes.len() > 3 << 20, "{} bytes are not read in several stretches", bytes.len());
    let needle = DAMAGED.to_string();
    let row = format!("row{needle}a");
    let at = bytes.windows(row.len()).position(|window| window == row.as_bytes()).unwrap();
    let start = bytes[..at].windows(4).rposition(|window| window == b"BWFR").unwrap();
    bytes[at] ^= 1;
    log.storage.overwrite(&Log::segment(1), bytes).unwrap();
    (log, start as u64)
}

const FRAMES: u64 = 20_000;
const DAMAGED: u64 = 7_777;

#[test]
fn nothing_behind_a_torn_frame_is_replayed_although_it_was_read_ahead() {
    let (log, at) = many_frames_and_a_damaged_one(false);
    let (seqs, found) = log.read(false).unwrap();
    assert_eq!(seqs, (1..DAMAGED).collect::<Vec<_>>());
    assert_eq!(found.torn.unwrap().offset, at);
    assert_eq!(found.seq_last, Seq(DAMAGED - 1));
}

#[test]
fn everything_around_a_damaged_frame_is_replayed_once() {
    let (log, at) = many_frames_and_a_damaged_one(true);
    let Err(Error::Corrupt(corruption)) = log.read(false) else { panic!("not noticed") };
    assert_eq!(corruption.offset, at);
    let (seqs, found) = log.read(true).unwrap();
    assert_eq!(seqs, (1..=FRAMES).filter(|&seq| seq != DAMAGED).collect::<Vec<_>>());
    assert_eq!((found.damage.len(), found.frames), (1, FRAMES));
}
