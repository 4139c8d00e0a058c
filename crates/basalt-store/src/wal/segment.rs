// SPDX-License-Identifier: Apache-2.0
//! One segment of the log, read in stretches: as many whole frames as lie in one read of about a mebibyte. Rows share
//! the bytes of their stretch, so those that stay in memory hold little else in it.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use super::frame::{
    self, BadFrame, FRAME_HEADER, FRAME_MAGIC, FrameHeader, SEGMENT_HEADER, Section, decode_section_header,
    decode_sections, decode_segment_header,
};
use crate::env::{Env, FileRead};
use crate::error::{Error, Result};

/// Bytes that are read at once, unless a frame is longer.
const STRETCH_BYTES: usize = 1 << 20;

/// A segment that can be read.
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) path: PathBuf,
    /// False if its header is not one of this log.
    pub(super) valid: bool,
    log_id: u64,
    file: Arc<dyn FileRead>,
}

/// Frames that lie behind each other, with headers that check out; their sections are not looked at yet.
#[derive(Debug)]
pub(super) struct Stretch {
    log_id: u64,
    bytes: Bytes,
    pub(super) frames: Vec<FrameHeader>,
}

/// What a stretch holds.
#[derive(Debug)]
pub(super) struct Decoded {
    /// The frames that check out, up to the first that does not.
    pub(super) frames: Vec<FrameHeader>,
    /// Their sections, in order.
    pub(super) sections: Vec<Section>,
    /// Bytes of the stretch, which the sections share.
    pub(super) size_bytes: usize,
    /// What is wrong with the first that does not.
    pub(super) bad: Option<BadFrame>,
}

impl Segment {
    /// Opens a segment and looks at its header.
    pub(super) fn open(env: &Env, path: PathBuf, number: u64, log_id: u64) -> Result<Self> {
        let file = env.storage.open(&path).map_err(Error::io("open", &path))?;
        let mut segment = Self { number, path, valid: false, log_id, file };
        let header = segment.read(0, SEGMENT_HEADER)?;
        let format = decode_segment_header(&header, number, log_id);
        if let Some(found) = format.filter(|&format| format > frame::FORMAT) {
            return Err(Error::NewerFormat { path: segment.path, found, supported: frame::FORMAT });
        }
        segment.valid = format.is_some();
        Ok(segment)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.file.size()
    }

    /// Up to `len` bytes from `at` on; fewer at the end.
    fn read(&self, at: u64, len: usize) -> Result<Bytes> {
        let left = self.size_bytes().saturating_sub(at);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(len);
        self.file.read_at(at, len).map_err(Error::io("read", &self.path))
    }

    /// The frames from `at` on that lie in one read; none if there is no whole frame at `at`.
    pub(super) fn stretch(&self, at: u64) -> Result<Stretch> {
        let mut bytes = self.read(at, STRETCH_BYTES)?;
        if let Some(first) = self.header_in(&bytes, 0, at) {
            let len = FRAME_HEADER + first.payload_len as usize;
            if len > bytes.len() && at + len as u64 <= self.size_bytes() {
                bytes = self.read(at, len)?;
            }
        }
        let (mut frames, mut end) = (Vec::new(), 0);
        while let Some(header) = self.header_in(&bytes, end, at) {
            let next = end + FRAME_HEADER + header.payload_len as usize;
            if next > bytes.len() {
                break;
            }
            frames.push(header);
            end = next;
        }
        Ok(Stretch { log_id: self.log_id, bytes: bytes.slice(..end), frames })
    }

    /// The valid header at `at` of bytes that begin at `offset` of the segment.
    fn header_in(&self, bytes: &[u8], at: usize, offset: u64) -> Option<FrameHeader> {
        FrameHeader::decode(&bytes[at..], self.number, offset + at as u64, self.log_id)
    }

    /// Why there is no whole frame at `at`, and what it may have been about.
    pub(super) fn why_no_frame(&self, at: u64) -> Result<BadFrame> {
        let bytes = self.read(at, STRETCH_BYTES)?;
        let what = match self.header_in(&bytes, 0, at) {
            None => "the frame header does not match its checksum",
            Some(_) => "the frame is cut off",
        };
        // The first section may still tell what the frame was about.
        let behind = bytes.len().min(FRAME_HEADER);
        let section = decode_section_header(&bytes.slice(behind..), self.log_id);
        Ok(section.map_or_else(|| BadFrame::unknown(what), |(section, _)| section.bad(what)))
    }

    /// True if nothing but zeros follows.
    pub(super) fn is_blank_from(&self, mut at: u64) -> Result<bool> {
        while at < self.size_bytes() {
            let bytes = self.read(at, STRETCH_BYTES)?;
            if bytes.iter().any(|&byte| byte != 0) {
                return Ok(false);
            }
            at += bytes.len() as u64;
        }
        Ok(true)
    }

    /// The first valid frame header at or behind `from`.
    pub(super) fn next_header(&self, from: u64) -> Result<Option<FrameHeader>> {
        let mut first = None;
        self.look_for_headers(from, |header| {
            first = Some(header);
            true
        })?;
        Ok(first)
    }

    /// True if a frame says that the segment's header was durable.
    pub(super) fn header_was_durable(&self) -> Result<bool> {
        Ok(self.durable_end_behind(0)?.is_some_and(|durable_end| durable_end > 0))
    }

    /// The largest `durable_end` that a valid header behind `at` states.
    pub(super) fn durable_end_behind(&self, at: u64) -> Result<Option<u64>> {
        let mut durable_end = None;
        self.look_for_headers(at + 1, |header| {
            durable_end = durable_end.max(Some(header.durable_end));
            false
        })?;
        Ok(durable_end)
    }

    /// Shows every valid frame header at or behind `from`, wherever it lies, until one is enough.
    fn look_for_headers(&self, from: u64, mut enough: impl FnMut(FrameHeader) -> bool) -> Result<()> {
        let mut at = from;
        while at + FRAME_HEADER as u64 <= self.size_bytes() {
            let bytes = self.read(at, STRETCH_BYTES)?;
            // A header that begins in the last bytes of this read is found by the next.
            let starts = bytes.len() - FRAME_HEADER + 1;
            for i in (0..starts).filter(|&i| bytes[i..].starts_with(FRAME_MAGIC)) {
                if self.header_in(&bytes, i, at).is_some_and(&mut enough) {
                    return Ok(());
                }
            }
            at += starts as u64;
        }
        Ok(())
    }
}

impl Stretch {
    /// Checks the sections down to their last cells.
    pub(super) fn decode(self) -> Decoded {
        let size_bytes = self.bytes.len();
        let mut decoded = Decoded { frames: Vec::new(), sections: Vec::new(), size_bytes, bad: None };
        let mut at = 0;
        for header in self.frames {
            let start = at + FRAME_HEADER;
            at = start + header.payload_len as usize;
            match decode_sections(&self.bytes.slice(start..at), &header, self.log_id) {
                Ok(sections) => {
                    decoded.sections.extend(sections);
                    decoded.frames.push(header);
                }
                Err(bad) => {
                    decoded.bad = Some(bad);
                    break;
                }
            }
        }
        decoded
    }
}
