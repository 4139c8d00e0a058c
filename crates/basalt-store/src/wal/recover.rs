// SPDX-License-Identifier: Apache-2.0
//! Reads the log back. See [`super`] for the rule that tells a torn tail from corruption.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_model::{Seq, TableId};
use bytes::Bytes;

use super::frame::{
    self, BadFrame, FRAME_HEADER, FRAME_MAGIC, FrameHeader, SEGMENT_HEADER, Section, decode_section_header,
    decode_sections, decode_segment_header,
};
use super::writer::SegmentEntry;
use crate::env::{Env, SyncKind};
use crate::error::{Corruption, Error, Result};
use crate::layout;

/// What the log was found to be.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    /// Segments that hold frames, oldest first.
    pub(crate) segments: Vec<SegmentEntry>,
    /// Number for the next segment.
    pub(crate) next_segment: u64,
    /// Last commit in the log.
    pub(crate) seq_last: Seq,
    /// Newest commit time in the log.
    pub(crate) timestamp: i64,
    /// Valid frames, marks included.
    pub(crate) frames: u64,
    /// Where the log has to be cut: path and length.
    pub(crate) torn: Option<(PathBuf, u64)>,
    /// Nothing in the last segment says that all of it was durable.
    pub(crate) unproven: bool,
    /// Segments to remove: not needed any more, or begun and never used.
    pub(crate) useless: Vec<u64>,
    /// Copies of segments that a crash left unfinished.
    pub(crate) unfinished: Vec<PathBuf>,
    /// Damage that was skipped.
    pub(crate) damage: Vec<Corruption>,
}

/// What to read and how.
pub(crate) struct LogReader<'a> {
    pub(crate) env: &'a Env,
    pub(crate) root: &'a Path,
    pub(crate) log_id: u64,
    pub(crate) first_segment: u64,
    /// Report damage and go on behind it.
    pub(crate) skip_damage: bool,
    /// For messages.
    pub(crate) table_name: &'a dyn Fn(TableId) -> Option<String>,
}

struct SegmentBytes {
    number: u64,
    path: PathBuf,
    bytes: Bytes,
    valid: bool,
}

impl LogReader<'_> {
    /// Hands every section of every valid frame to `replay`, in commit order; changes nothing on disk.
    pub(crate) fn read(&self, replay: &mut dyn FnMut(Vec<Section>) -> Result<()>) -> Result<Recovered> {
        let mut found = Recovered::default();
        let numbers = self.segment_numbers(&mut found)?;
        found.next_segment = numbers.last().map_or(self.first_segment, |last| last + 1);
        for (at, &number) in numbers.iter().enumerate() {
            let segment = self.load(number)?;
            if let Some(expected) = self.missing_before(&numbers, at) {
                let path = layout::segment_path(self.root, expected);
                self.damaged(&mut found, &path, 0, BadFrame::unknown("the segment is missing"))?;
            }
            if segment.valid {
                let later = || self.later_segment_is_valid(&numbers[at + 1..]);
                self.read_segment(&segment, &later, &mut found, replay)?;
            } else if self.later_segment_is_valid(&numbers[at + 1..])? || self.has_frame(&segment) {
                let what = BadFrame::unknown("the segment header is not valid");
                self.damaged(&mut found, &segment.path, 0, what)?;
                self.read_segment(&segment, &|| Ok(true), &mut found, replay)?;
            } else {
                // Nothing behind it is valid either: the numbers go on from here.
                found.next_segment = found.next_segment.min(number);
                found.useless.push(number);
            }
        }
        Ok(found)
    }

    /// The segments that are needed; takes note of what else lies there.
    fn segment_numbers(&self, found: &mut Recovered) -> Result<Vec<u64>> {
        let dir = self.root.join(layout::WAL_DIR);
        let entries = match self.env.storage.list(&dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("list", &dir)(error)),
        };
        let unfinished = entries.iter().filter(|entry| layout::is_segment_temporary(&entry.name));
        found.unfinished = unfinished.map(|entry| dir.join(&entry.name)).collect();
        let numbers = entries.iter().filter_map(|entry| layout::parse_segment_name(&entry.name));
        let (needed, useless) = numbers.partition(|&number| number >= self.first_segment);
        found.useless = useless;
        Ok(needed)
    }

    /// The segment that should precede segment `at` of `numbers`, if it is not there.
    fn missing_before(&self, numbers: &[u64], at: usize) -> Option<u64> {
        let expected = if at == 0 { self.first_segment } else { numbers[at - 1] + 1 };
        (numbers[at] != expected).then_some(expected)
    }

    fn load(&self, number: u64) -> Result<SegmentBytes> {
        let path = layout::segment_path(self.root, number);
        let file = self.env.storage.open(&path).map_err(Error::io("open", &path))?;
        let bytes = file.read_at(0, file.size() as usize).map_err(Error::io("read", &path))?;
        let format = decode_segment_header(&bytes, number, self.log_id);
        if let Some(found) = format.filter(|&format| format > frame::FORMAT) {
            return Err(Error::NewerFormat { path, found, supported: frame::FORMAT });
        }
        Ok(SegmentBytes { number, path, bytes, valid: format.is_some() })
    }

    fn later_segment_is_valid(&self, later: &[u64]) -> Result<bool> {
        for &number in later {
            let segment = self.load(number)?;
            if segment.valid || self.has_frame(&segment) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_frame(&self, segment: &SegmentBytes) -> bool {
        self.next_header(segment, 0).is_some()
    }

    /// The first valid frame header at or behind `from`.
    fn next_header(&self, segment: &SegmentBytes, from: usize) -> Option<FrameHeader> {
        let bytes = &segment.bytes;
        let mut at = from;
        while at + FRAME_HEADER <= bytes.len() {
            let step = bytes[at..].windows(4).position(|window| window == FRAME_MAGIC)?;
            at += step;
            if let Some(header) = FrameHeader::decode(&bytes[at..], segment.number, at as u64, self.log_id) {
                return Some(header);
            }
            at += 1;
        }
        None
    }

    fn read_segment(
        &self,
        segment: &SegmentBytes,
        later_is_valid: &dyn Fn() -> Result<bool>,
        found: &mut Recovered,
        replay: &mut dyn FnMut(Vec<Section>) -> Result<()>,
    ) -> Result<()> {
        let mut at = SEGMENT_HEADER;
        let (mut durable_end, mut data_end) = (0, at);
        let mut entry = SegmentEntry { number: segment.number, seq_last: Seq(0), size_bytes: 0 };
        while at < segment.bytes.len() {
            match self.frame_at(segment, at) {
                Ok((header, sections)) => {
                    entry.seq_last = entry.seq_last.max(header.seq_last);
                    found.frames += 1;
                    found.timestamp = found.timestamp.max(header.timestamp);
                    at += FRAME_HEADER + header.payload_len as usize;
                    durable_end = durable_end.max(header.durable_end);
                    if !sections.is_empty() {
                        replay(sections)?;
                        data_end = at;
                    }
                }
                Err(bad) => match self.behind(segment, at) {
                    Some(durable_end) if durable_end > at as u64 => {
                        self.damaged(found, &segment.path, at as u64, bad)?;
                        at = self
                            .next_header(segment, at + 1)
                            .map_or(segment.bytes.len(), |next| next.offset as usize);
                    }
                    _ if later_is_valid()? => {
                        self.damaged(found, &segment.path, at as u64, bad)?;
                        at = self
                            .next_header(segment, at + 1)
                            .map_or(segment.bytes.len(), |next| next.offset as usize);
                    }
                    _ => {
                        found.torn = Some((segment.path.clone(), at as u64));
                        break;
                    }
                },
            }
        }
        entry.size_bytes = at as u64;
        found.unproven = durable_end < data_end as u64;
        found.seq_last = found.seq_last.max(entry.seq_last);
        found.segments.push(entry);
        Ok(())
    }

    /// The largest `durable_end` that a valid header behind `at` states.
    fn behind(&self, segment: &SegmentBytes, at: usize) -> Option<u64> {
        let mut durable_end = None;
        let mut from = at + 1;
        while let Some(header) = self.next_header(segment, from) {
            durable_end = durable_end.max(Some(header.durable_end));
            from = header.offset as usize + 1;
        }
        durable_end
    }

    fn frame_at(&self, segment: &SegmentBytes, at: usize) -> Result<(FrameHeader, Vec<Section>), BadFrame> {
        let bytes = &segment.bytes;
        let Some(header) = FrameHeader::decode(&bytes[at..], segment.number, at as u64, self.log_id) else {
            // The first section may still tell what the frame was about.
            let section = bytes
                .get(at + FRAME_HEADER..)
                .and_then(|_| decode_section_header(&bytes.slice(at + FRAME_HEADER..), self.log_id));
            let what = "the frame header does not match its checksum";
            return Err(section.map_or_else(|| BadFrame::unknown(what), |(section, _)| section.bad(what)));
        };
        let start = at + FRAME_HEADER;
        let end = start + header.payload_len as usize;
        if end > bytes.len() {
            let section = decode_section_header(&bytes.slice(start..), self.log_id);
            let what = "the frame is cut off";
            return Err(section.map_or_else(|| BadFrame::unknown(what), |(section, _)| section.bad(what)));
        }
        let sections = decode_sections(&bytes.slice(start..end), &header, self.log_id)?;
        Ok((header, sections))
    }

    /// Reports damage, or fails with it.
    fn damaged(&self, found: &mut Recovered, path: &Path, offset: u64, bad: BadFrame) -> Result<()> {
        let table =
            bad.table.map(|id| (self.table_name)(id).unwrap_or_else(|| format!("{} (dropped)", id.0)));
        let corruption =
            Corruption { file: path.to_owned(), offset, table, range: bad.range, what: bad.what };
        if !self.skip_damage {
            return Err(Error::Corrupt(Arc::new(corruption)));
        }
        found.damage.push(corruption);
        Ok(())
    }
}

/// Removes useless segments, cuts the torn tail off, and makes what was read durable: the next segment's header will
/// claim that everything before it is on disk. Everything here may be repeated after a crash.
///
/// What no frame says was durable may be in the page cache alone: after a crash of the process, or because a sync
/// failed. In the second case the system takes it for written, and another sync would succeed without it. So such a
/// segment is written anew, as a file of its own that takes its place.
pub(crate) fn repair(env: &Env, root: &Path, found: &Recovered) -> Result<()> {
    super::writer::remove_segments(env, root, &found.useless)?;
    for path in &found.unfinished {
        env.storage.remove(path).map_err(Error::io("remove", path))?;
    }
    let Some(last) = found.segments.last() else { return Ok(()) };
    let path = &layout::segment_path(root, last.number);
    if found.unproven {
        return rewrite(env, path, last.size_bytes);
    }
    let mut file = env.storage.open_append(path).map_err(Error::io("open", path))?;
    if let Some((torn, len)) = &found.torn {
        assert_eq!(torn, path, "nothing valid follows a torn tail");
        file.truncate(*len).map_err(Error::io("truncate", path))?;
    }
    file.sync(SyncKind::All).map_err(Error::io("sync", path))
}

/// Puts a copy of the first `len` bytes of a segment in its place.
fn rewrite(env: &Env, path: &Path, len: u64) -> Result<()> {
    let storage = &env.storage;
    let file = storage.open(path).map_err(Error::io("open", path))?;
    let bytes = file.read_at(0, len as usize).map_err(Error::io("read", path))?;
    let copy = &layout::segment_temporary_path(path);
    let written = storage.create(copy).and_then(|mut file| {
        file.append(&bytes)?;
        file.sync(SyncKind::All)
    });
    written.map_err(Error::io("write", copy))?;
    storage.rename(copy, path).map_err(Error::io("rename", copy))?;
    let dir = path.parent().expect("segments lie in a directory");
    storage.sync_dir(dir).map_err(Error::io("sync", dir))
}
