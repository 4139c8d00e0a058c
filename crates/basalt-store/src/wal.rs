// SPDX-License-Identifier: Apache-2.0
//! The write-ahead log: what it writes, what it proves, and how it is read back.
//!
//! The log is a row of segments `wal/<20 digits>.log`. A segment is a header and frames; one frame holds one
//! group of batches that were committed together, and is the unit of torn tails: it is replayed wholly or not
//! at all. The bytes are in [`frame`], writing in [`writer`], reading back in [`recover`] and [`segment`].
//!
//! # Writing
//!
//! 1. A frame is appended at `end`. If that fails, the file is cut back to `end`, the error goes to the
//!    writers of the group, and the log goes on. If the cut fails as well, the log is *failed*.
//! 2. A sync makes everything durable that lies before the `end` of when it began; that is `durable_end` then. Frames are
//!    appended meanwhile, but syncs are one at a time. If one fails, nothing is known about what the disk holds, and a
//!    second sync would prove nothing: the log is failed.
//! 3. A failed log takes nothing more until the database is opened again and recovery has looked.
//! 4. Every frame says in its header what was durable when it was written. When the log is idle or closed
//!    after a sync, an empty frame (a *mark*) says so for the last frames.
//! 5. A segment that is full is synced before the next one gets its header: whoever sees a valid header of
//!    segment n + 1 knows that all of segment n was durable. The file's name is made durable before that, while the segment
//!    before is filled; the header becomes durable with the first frames, which say 0 for what was durable when they
//!    were written.
//!
//! 6. Short frames that somebody waits for are written over zeros: those behind `end` are written in advance, up to 256 KiB at a time, so that a sync has bytes to
//!    make durable and no new length of the file, for which a file system would write to its journal too. They are cut off before a segment
//!    is followed by another, and when the log is closed; behind the last frame of the last segment they may be left.
//!
//! # Recovery
//!
//! Frames are read in order. At a frame that does not check out, at offset X of segment n:
//!
//! * If a valid frame header behind X in segment n says `durable_end > X`, or a later segment has a valid
//!   header, the frame at X was durable once and is now damaged. That is *corruption*: an error that names
//!   file, offset, table and key range; with [`Recovery::SkipDamagedWal`](crate::options::Recovery) it is
//!   reported and reading goes on at the next valid frame.
//! * The same holds for the header of a segment, if a frame in it says `durable_end > 0`.
//! * Otherwise no acknowledged write can be behind X (an acknowledged write was synced, and that sync covered
//!   everything before it). It is a *torn tail*: the segment is cut at X.
//!
//! What this cannot tell apart: damage to the last frames of a log that was neither closed nor idle before it
//! stopped, and a torn tail. Every log has that gap; the marks keep it below the length of one tick.

pub(crate) mod frame;
pub(crate) mod fuzzed;
pub(crate) mod recover;
mod segment;
mod sync;
pub(crate) mod writer;

#[cfg(test)]
mod tests;
