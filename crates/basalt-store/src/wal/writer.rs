// SPDX-License-Identifier: Apache-2.0
//! Appends frames to segments. See [`super`] for the protocol; its numbers are cited here.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed},
};

use basalt_model::{Seq, TableId};

use super::frame::{FRAME_HEADER, FrameHeader, SEGMENT_HEADER, encode_segment_header};
use super::sync::{PendingSync, Syncs};
use crate::env::{Env, StorageFile, SyncKind};
use crate::error::{Error, Result};
use crate::layout;

/// A segment on disk and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentEntry {
    pub(crate) number: u64,
    /// No later commit is in the segment.
    pub(crate) seq_last: Seq,
    pub(crate) size_bytes: u64,
}

/// What a frame is made of: sections, and which commits they hold.
#[derive(Debug)]
pub(crate) struct Payload {
    /// Room for the frame's header, and the sections.
    pub(crate) bytes: Vec<u8>,
    pub(crate) section_count: u32,
    pub(crate) seq_first: Seq,
    pub(crate) seq_last: Seq,
    pub(crate) timestamp: i64,
    /// The table of all sections; zero if there are several.
    pub(crate) table: TableId,
    /// Somebody waits for it to be synced.
    pub(crate) awaited: bool,
}

impl Default for Payload {
    fn default() -> Self {
        Self::within(Vec::new())
    }
}

impl Payload {
    /// Without sections, in the memory of this buffer.
    fn within(mut bytes: Vec<u8>) -> Self {
        bytes.clear();
        bytes.resize(FRAME_HEADER, 0);
        let seq = Seq(0);
        let table = TableId(0);
        Self { bytes, section_count: 0, seq_first: seq, seq_last: seq, timestamp: 0, table, awaited: true }
    }
}

struct OpenSegment {
    number: u64,
    file: Box<dyn StorageFile>,
    /// Where the next frame begins.
    end: u64,
    /// Where the last frame that is no mark ends.
    data_end: u64,
    /// Everything before this is durable.
    durable_end: Arc<AtomicU64>,
    /// Where the zeros end that are there to be written over (rule 6); before `end` if there are none.
    reserved_end: u64,
    seq_last: Seq,
    /// True if a mark follows the last frame (rule 4).
    marked: bool,
}

impl OpenSegment {
    fn has_unsynced(&self) -> bool {
        self.data_end > self.durable_end.load(Acquire)
    }

    /// Sees to it that a short frame does not make the file longer (rule 6). Without the room it does.
    fn make_room(&mut self, frame_len: usize) {
        if frame_len <= SHORT_FRAME_BYTES && self.end + frame_len as u64 > self.reserved_end {
            let len = self.end.clamp(RESERVED_BYTES_MIN, RESERVED_BYTES_MAX);
            let _ = self.file.reserve(len);
            self.reserved_end = self.end + len;
        }
    }

    /// Ends the file with the last frame.
    fn trim(&mut self) -> io::Result<()> {
        if self.reserved_end > self.end {
            self.file.truncate(self.end)?;
            self.reserved_end = 0;
        }
        Ok(())
    }
}

/// A file for the next segment, with a durable name and nothing in it.
pub(crate) struct EmptySegment {
    number: u64,
    file: Box<dyn StorageFile>,
}

/// What [`EmptySegment`] is made from.
pub(crate) struct SegmentWish {
    env: Env,
    path: PathBuf,
    number: u64,
    syncs: Arc<Syncs>,
}

/// The end of the log.
pub(crate) struct LogWriter {
    env: Env,
    root: PathBuf,
    log_id: u64,
    segment_bytes_max: u64,
    /// Finished segments that are still needed, oldest first.
    finished: Vec<SegmentEntry>,
    open: Option<OpenSegment>,
    next_segment: u64,
    /// Somebody makes a file for it: the open segment stays open until then.
    preparing: bool,
    syncs: Arc<Syncs>,
    size_bytes: Arc<AtomicU64>,
    /// Memory for the next frame.
    spare: Vec<u8>,
}

/// Memory that is kept from one frame to the next, at most: new memory has to be cleared by the operating system.
const SPARE_BYTES_MAX: usize = 4 << 20;
/// Frames up to this length are written over zeros. To write longer ones twice would take longer than the new length.
const SHORT_FRAME_BYTES: usize = 32 << 10;
/// Zeros written at a time: as many bytes as the segment has, within these bounds.
const RESERVED_BYTES_MIN: u64 = 64 << 10;
const RESERVED_BYTES_MAX: u64 = 256 << 10;

impl LogWriter {
    /// Goes on behind `finished` segments; creates nothing before the first frame.
    pub(crate) fn new(
        env: Env,
        root: PathBuf,
        log_id: u64,
        segment_bytes_max: u64,
        finished: Vec<SegmentEntry>,
        next_segment: u64,
    ) -> Self {
        let size_bytes = Arc::new(AtomicU64::new(finished.iter().map(|segment| segment.size_bytes).sum()));
        let (open, syncs, spare) = (None, Arc::default(), Vec::new());
        Self {
            env,
            root,
            log_id,
            segment_bytes_max,
            finished,
            open,
            next_segment,
            preparing: false,
            syncs,
            size_bytes,
            spare,
        }
    }

    /// An error if the log has failed (rule 3).
    pub(crate) fn check(&self) -> Result<()> {
        self.syncs.check()
    }

    /// Takes nothing more: a panic came in between, and nobody knows where the last frame ends.
    pub(crate) fn give_up(&mut self) -> Error {
        self.syncs.fail(io::Error::other("the program panicked while it wrote to the log"))
    }

    /// The same log, whose size this gauge shows from now on.
    pub(crate) fn with_gauge(self, size_bytes: Arc<AtomicU64>) -> Self {
        size_bytes.store(self.size_bytes.load(Relaxed), Relaxed);
        Self { size_bytes, ..self }
    }

    /// Bytes in all segments, readable without a lock.
    pub(crate) fn size_gauge(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.size_bytes)
    }

    /// True if some appended frame is not known to be durable.
    pub(crate) fn has_unsynced(&self) -> bool {
        self.open.as_ref().is_some_and(OpenSegment::has_unsynced)
    }

    /// A frame without sections yet, for [`Self::append`].
    pub(crate) fn new_payload(&mut self) -> Payload {
        Payload::within(std::mem::take(&mut self.spare))
    }

    /// Appends one frame (rule 1), if it has sections.
    pub(crate) fn append(&mut self, mut payload: Payload) -> Result<()> {
        self.check()?;
        if payload.section_count > 0 {
            self.append_sections(&mut payload)?;
        }
        if payload.bytes.capacity() <= SPARE_BYTES_MAX {
            self.spare = payload.bytes;
        }
        Ok(())
    }

    fn append_sections(&mut self, payload: &mut Payload) -> Result<()> {
        assert!(payload.seq_first <= payload.seq_last);
        let is_full = self.open.as_ref().is_some_and(|open| open.end >= self.segment_bytes_max);
        if is_full && !self.preparing {
            self.finish_segment()?;
        }
        if self.open.is_none() {
            self.open_segment()?;
        }
        let open = self.open.as_mut().expect("opened above");
        if payload.awaited {
            open.make_room(payload.bytes.len());
        }
        self.append_frame(payload)?;
        let open = self.open.as_mut().expect("opened above");
        open.seq_last = open.seq_last.max(payload.seq_last);
        (open.data_end, open.marked) = (open.end, false);
        Ok(())
    }

    fn append_frame(&mut self, payload: &mut Payload) -> Result<()> {
        let open = self.open.as_mut().expect("the caller opened a segment");
        let header = FrameHeader {
            segment: open.number,
            offset: open.end,
            durable_end: open.durable_end.load(Acquire),
            payload_len: u32::try_from(payload.bytes.len() - FRAME_HEADER)
                .expect("groups are bounded far below 4 GiB"),
            section_count: payload.section_count,
            seq_first: payload.seq_first,
            seq_last: payload.seq_last,
            timestamp: payload.timestamp,
            table: payload.table,
        };
        payload.bytes[..FRAME_HEADER].copy_from_slice(&header.encode(self.log_id));
        if let Err(error) = open.file.append(&payload.bytes) {
            let path = layout::segment_path(&self.root, open.number);
            open.reserved_end = 0;
            if let Err(cut) = open.file.truncate(open.end) {
                self.syncs.fail(cut);
            }
            return Err(Error::io("write", &path)(error));
        }
        open.end += payload.bytes.len() as u64;
        self.size_bytes.fetch_add(payload.bytes.len() as u64, Relaxed);
        Ok(())
    }

    /// Makes all frames durable (rule 2).
    pub(crate) fn sync(&mut self, kind: SyncKind) -> Result<()> {
        self.check()?;
        self.pending_sync().map_or(Ok(()), |sync| sync.run(kind))
    }

    /// A sync of all frames, which may run while others are appended.
    pub(crate) fn pending_sync(&self) -> Option<PendingSync> {
        self.open.as_ref().map(|open| PendingSync {
            file: open.file.syncer(),
            end: open.end,
            durable_end: Arc::clone(&open.durable_end),
            syncs: Arc::clone(&self.syncs),
        })
    }

    /// Writes down that the last frames are durable (rule 4), without a sync of its own. A failure costs
    /// nothing but the mark.
    pub(crate) fn mark(&mut self) {
        let Some(open) = &self.open else { return };
        if self.check().is_err() || open.marked || open.has_unsynced() {
            return;
        }
        let seq = open.seq_last;
        let mut payload = Payload { seq_first: seq, seq_last: seq, ..Payload::default() };
        let marked = self.append_frame(&mut payload).is_ok();
        if let Some(open) = &mut self.open {
            open.marked = marked;
        }
    }

    /// Ends the last segment's file with its last frame.
    pub(crate) fn trim(&mut self) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.trim().map_err(Error::io("truncate", &layout::segment_path(&self.root, open.number)))
    }

    /// Ends the open segment (rule 5), so that it can be removed once it is not needed.
    pub(crate) fn finish_segment(&mut self) -> Result<()> {
        let cut_off = self.open.as_ref().is_some_and(|open| open.reserved_end > open.end);
        self.trim()?;
        // What was cut off must not come back before the next segment's header, although all frames may be durable.
        self.sync(if cut_off { SyncKind::All } else { SyncKind::Data })?;
        if let Some(open) = self.open.take() {
            let entry = SegmentEntry { number: open.number, seq_last: open.seq_last, size_bytes: open.end };
            self.finished.push(entry);
        }
        Ok(())
    }

    /// What the next segment is made from, once the open one is nearly full. Whoever takes it calls [`Self::go_on_in`] with what
    /// comes of it.
    pub(crate) fn segment_wish(&mut self) -> Option<SegmentWish> {
        let nearly_full = self.segment_bytes_max - self.segment_bytes_max / 4;
        let wanted = self.open.as_ref().is_some_and(|open| open.end >= nearly_full) && !self.preparing;
        wanted.then(|| {
            self.preparing = true;
            self.wish()
        })
    }

    fn wish(&self) -> SegmentWish {
        let number = self.next_segment;
        let path = layout::segment_path(&self.root, number);
        SegmentWish { env: self.env.clone(), path, number, syncs: Arc::clone(&self.syncs) }
    }

    /// Goes on in this segment. Without one it goes on as before, and makes one itself when the open one is full.
    pub(crate) fn go_on_in(&mut self, segment: Result<EmptySegment>) -> Result<()> {
        self.preparing = false;
        let segment = segment?;
        self.finish_segment()?;
        self.begin_segment(segment)
    }

    fn open_segment(&mut self) -> Result<()> {
        let segment = self.wish().create()?;
        self.begin_segment(segment)
    }

    /// Everything before is durable, and the header says so. It becomes durable with the first frames.
    fn begin_segment(&mut self, EmptySegment { number, mut file }: EmptySegment) -> Result<()> {
        if let Err(error) = file.append(&encode_segment_header(number, self.log_id)) {
            // A partial header is no header; recovery ignores such a segment at the end of the log, and the
            // next attempt writes over it.
            let path = layout::segment_path(&self.root, number);
            let _ = self.env.storage.remove(&path);
            return Err(Error::io("write", &path)(error));
        }
        let end = SEGMENT_HEADER as u64;
        self.size_bytes.fetch_add(end, Relaxed);
        self.open = Some(OpenSegment {
            number,
            file,
            end,
            data_end: 0,
            durable_end: Arc::default(),
            reserved_end: 0,
            seq_last: Seq(0),
            marked: true,
        });
        self.next_segment = number + 1;
        Ok(())
    }

    /// Number of the first segment that holds a commit after `seq`, or that will.
    pub(crate) fn first_needed(&self, seq: Seq) -> u64 {
        let finished =
            self.finished.iter().find(|segment| segment.seq_last > seq).map(|segment| segment.number);
        finished.or(self.open.as_ref().map(|open| open.number)).unwrap_or(self.next_segment)
    }

    /// True if the open segment has frames, all of them are of commits up to `seq`, and it may be ended.
    pub(crate) fn open_segment_is_done(&self, seq: Seq) -> bool {
        let frames = |open: &OpenSegment| open.end > SEGMENT_HEADER as u64 && open.seq_last <= seq;
        !self.preparing && self.open.as_ref().is_some_and(frames)
    }

    /// Forgets the segments before `first`, whose files may go once a durable manifest says that they are not needed.
    pub(crate) fn forget_before(&mut self, first: u64) -> Vec<PathBuf> {
        let done = self.finished.extract_if(.., |segment| segment.number < first);
        let forgotten = done.map(|segment| {
            self.size_bytes.fetch_sub(segment.size_bytes, Relaxed);
            layout::segment_path(&self.root, segment.number)
        });
        forgotten.collect()
    }
}

impl SegmentWish {
    /// The file, empty, with a name that survives.
    pub(crate) fn create(self) -> Result<EmptySegment> {
        let Self { env, path, number, syncs } = self;
        let file = env.storage.create(&path).map_err(Error::io("create", &path))?;
        let dir = path.parent().expect("segments lie in a directory");
        env.storage.sync_dir(dir).map_err(|error| syncs.fail(error))?;
        Ok(EmptySegment { number, file })
    }
}

/// Removes files of the log that recovery found to be of no use.
pub(crate) fn remove_segments(env: &Env, root: &Path, segments: &[u64]) -> Result<()> {
    for &segment in segments {
        let path = layout::segment_path(root, segment);
        env.storage.remove(&path).map_err(Error::io("remove", &path))?;
    }
    if !segments.is_empty() {
        let dir = root.join(layout::WAL_DIR);
        env.storage.sync_dir(&dir).map_err(Error::io("sync", &dir))?;
    }
    Ok(())
}
