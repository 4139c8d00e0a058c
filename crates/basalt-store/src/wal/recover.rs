// SPDX-License-Identifier: Apache-2.0
//! Reads the log back. See [`super`] for the rule that tells a torn tail from corruption.
//!
//! 1. The caller's thread reads a segment in stretches and looks at headers only.
//! 2. [`Workers`] check the sections of each stretch and prepare what they come to, several stretches at once.
//! 3. The caller's thread takes the stretches in the order of the log. At the first frame that does not check out it
//!    forgets what was prepared of the frames behind, decides by the rule, and goes on with 1 where that says.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_model::{Seq, TableId};

use super::frame::{BadFrame, FRAME_HEADER, FrameHeader, SEGMENT_HEADER, Section};
use super::segment::{Decoded, Segment};
use super::writer::SegmentEntry;
use crate::env::{Env, SyncKind};
use crate::error::{Corruption, Error, Result};
use crate::layout;
use crate::workers::Workers;

/// Bytes of a segment that are copied at once.
const COPY_BYTES: usize = 1 << 20;

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
    /// What has to be cut off.
    pub(crate) torn: Option<TornTail>,
    /// Nothing in the last segment says that all of it was durable.
    pub(crate) unproven: bool,
    /// Segments to remove: not needed any more, or begun and never used.
    pub(crate) useless: Vec<u64>,
    /// Copies of segments that a crash left unfinished.
    pub(crate) unfinished: Vec<PathBuf>,
    /// Damage that was skipped.
    pub(crate) damage: Vec<Corruption>,
}

/// The end of the last segment, in which no acknowledged write can be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TornTail {
    pub(crate) path: PathBuf,
    /// Where it begins.
    pub(crate) offset: u64,
    /// Nothing but zeros, which were there to be written over.
    pub(crate) blank: bool,
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
    /// Check and prepare.
    pub(crate) workers: &'a Workers,
}

/// What is to be done with the log's sections.
pub(crate) struct Replay<'a, T> {
    /// Done on any thread, with the sections of a stretch and the bytes that they share; touches no storage.
    pub(crate) prepare: Arc<dyn Fn(Vec<Section>, usize) -> T + Send + Sync>,
    /// Done in the order of the log.
    pub(crate) apply: &'a mut dyn FnMut(T, Progress) -> Result<()>,
}

/// How far the log was read before the stretch in hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The last commit in what was read.
    pub(crate) seq_last: Seq,
    /// The newest commit time in it.
    pub(crate) timestamp: i64,
    /// The log says that all of it is durable.
    pub(crate) durable: bool,
}

/// A stretch under way: its frames and what they come to.
struct Prepared<T> {
    frames: Vec<FrameHeader>,
    bad: Option<BadFrame>,
    replayed: T,
}

/// How far a segment was read.
struct Place {
    entry: SegmentEntry,
    /// The next frame.
    at: u64,
    /// Everything before this is durable, say the frames up to `at`.
    durable_end: u64,
    /// The same, say the headers that were looked at.
    durable_end_ahead: u64,
    /// Where the last frame with data ends.
    data_end: u64,
}

impl LogReader<'_> {
    /// Hands every section of every valid frame to `replay`, in commit order; changes nothing on disk.
    pub(crate) fn read<T: Send + 'static>(&self, mut replay: Replay<'_, T>) -> Result<Recovered> {
        let mut found = Recovered::default();
        let numbers = self.segment_numbers(&mut found)?;
        found.next_segment = numbers.last().map_or(self.first_segment, |last| last + 1);
        for (at, &number) in numbers.iter().enumerate() {
            let segment = self.open(number)?;
            if let Some(expected) = self.missing_before(&numbers, at) {
                let path = layout::segment_path(self.root, expected);
                self.damaged(&mut found, &path, 0, BadFrame::unknown("the segment is missing"))?;
            }
            if segment.valid {
                let later = || self.later_segment_is_valid(&numbers[at + 1..]);
                self.read_segment(&segment, &later, &mut found, &mut replay)?;
            } else if self.later_segment_is_valid(&numbers[at + 1..])? || segment.header_was_durable()? {
                let what = BadFrame::unknown("the segment header is not valid");
                self.damaged(&mut found, &segment.path, 0, what)?;
                self.read_segment(&segment, &|| Ok(true), &mut found, &mut replay)?;
            } else {
                // Nothing behind it was ever durable: the numbers go on from here.
                found.next_segment = found.next_segment.min(number);
                found.useless.push(number);
            }
        }
        found.leave_out_only_header();
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

    fn open(&self, number: u64) -> Result<Segment> {
        Segment::open(self.env, layout::segment_path(self.root, number), number, self.log_id)
    }

    fn later_segment_is_valid(&self, later: &[u64]) -> Result<bool> {
        for &number in later {
            let segment = self.open(number)?;
            if segment.valid || segment.next_header(0)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn read_segment<T: Send + 'static>(
        &self,
        segment: &Segment,
        later_is_valid: &dyn Fn() -> Result<bool>,
        found: &mut Recovered,
        replay: &mut Replay<'_, T>,
    ) -> Result<()> {
        let start = SEGMENT_HEADER as u64;
        let entry = SegmentEntry { number: segment.number, seq_last: Seq(0), size_bytes: 0 };
        let mut place = Place { entry, at: start, durable_end: 0, durable_end_ahead: 0, data_end: start };
        while let Some(bad) = self.read_sound_frames(segment, &mut place, found, replay)? {
            let claimed = segment.durable_end_behind(place.at)?;
            if claimed.is_none_or(|durable_end| durable_end <= place.at) && !later_is_valid()? {
                let blank = segment.is_blank_from(place.at)?;
                found.torn = Some(TornTail { path: segment.path.clone(), offset: place.at, blank });
                break;
            }
            self.damaged(found, &segment.path, place.at, bad)?;
            let next = segment.next_header(place.at + 1)?;
            place.at = next.map_or(segment.size_bytes(), |next| next.offset);
        }
        place.entry.size_bytes = place.at;
        found.unproven = place.durable_end < place.data_end;
        found.segments.push(place.entry);
        Ok(())
    }

    /// Steps 1 to 3 up to the end of the segment, or to a frame that does not check out.
    fn read_sound_frames<T: Send + 'static>(
        &self,
        segment: &Segment,
        place: &mut Place,
        found: &mut Recovered,
        replay: &mut Replay<'_, T>,
    ) -> Result<Option<BadFrame>> {
        let mut under_way = VecDeque::new();
        let mut ahead = place.at;
        loop {
            while under_way.len() < self.workers.depth() {
                let stretch = segment.stretch(ahead)?;
                let Some(last) = stretch.frames.last() else { break };
                ahead = end_of(last);
                place.durable_end_ahead = place.durable_end_ahead.max(last.durable_end);
                let prepare = Arc::clone(&replay.prepare);
                under_way.push_back(self.workers.run(move || {
                    let Decoded { frames, sections, size_bytes, bad } = stretch.decode();
                    Prepared { frames, bad, replayed: prepare(sections, size_bytes) }
                }));
            }
            let Some(next) = under_way.pop_front() else { break };
            let next = self.workers.wait(&next);
            let durable = place.at <= place.durable_end_ahead;
            let before = Progress { seq_last: found.seq_last, timestamp: found.timestamp, durable };
            next.frames.iter().for_each(|header| place.pass(header, found));
            (replay.apply)(next.replayed, before)?;
            if next.bad.is_some() {
                return Ok(next.bad);
            }
        }
        if place.at >= segment.size_bytes() { Ok(None) } else { segment.why_no_frame(place.at).map(Some) }
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

impl Recovered {
    /// A log that is nothing but a segment's header is none. Behind other segments the header stays: it says that they were durable.
    fn leave_out_only_header(&mut self) {
        if let [only] = self.segments[..]
            && only.size_bytes <= SEGMENT_HEADER as u64
        {
            self.useless.push(only.number);
            self.next_segment = only.number;
            self.segments.clear();
            self.torn = None;
        }
    }
}

impl Place {
    /// A frame was read.
    fn pass(&mut self, header: &FrameHeader, found: &mut Recovered) {
        found.frames += 1;
        found.timestamp = found.timestamp.max(header.timestamp);
        found.seq_last = found.seq_last.max(header.seq_last);
        self.entry.seq_last = self.entry.seq_last.max(header.seq_last);
        self.durable_end = self.durable_end.max(header.durable_end);
        self.at = end_of(header);
        if header.section_count > 0 {
            self.data_end = self.at;
        }
    }
}

fn end_of(header: &FrameHeader) -> u64 {
    header.offset + (FRAME_HEADER as u64) + u64::from(header.payload_len)
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
    if let Some(torn) = &found.torn {
        assert_eq!(torn.path, *path, "nothing valid follows a torn tail");
        file.truncate(torn.offset).map_err(Error::io("truncate", path))?;
    }
    file.sync(SyncKind::All).map_err(Error::io("sync", path))
}

/// Puts a copy of the first `len` bytes of a segment in its place.
fn rewrite(env: &Env, path: &Path, len: u64) -> Result<()> {
    let storage = &env.storage;
    let segment = storage.open(path).map_err(Error::io("open", path))?;
    let copy = &layout::segment_temporary_path(path);
    let mut file = storage.create(copy).map_err(Error::io("create", copy))?;
    for at in (0..len).step_by(COPY_BYTES) {
        let part = (len - at).min(COPY_BYTES as u64) as usize;
        let bytes = segment.read_at(at, part).map_err(Error::io("read", path))?;
        file.append(&bytes).map_err(Error::io("write", copy))?;
    }
    file.sync(SyncKind::All).map_err(Error::io("sync", copy))?;
    storage.rename(copy, path).map_err(Error::io("rename", copy))?;
    let dir = path.parent().expect("segments lie in a directory");
    storage.sync_dir(dir).map_err(Error::io("sync", dir))
}
