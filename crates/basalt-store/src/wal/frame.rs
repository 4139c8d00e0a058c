// SPDX-License-Identifier: Apache-2.0
//! The bytes of the log. All numbers are little-endian; format 1.
//!
//! ```text
//! segment header, 32 bytes
//!    0  8  "BSLTWAL1"
//!    8  8  segment number
//!   16  8  log id of the database
//!   24  4  format version (1)
//!   28  4  CRC-32C of bytes 0..28
//!
//! frame header, 72 bytes
//!    0  4  "BWFR"
//!    4  4  CRC-32C of log id and bytes 8..72
//!    8  8  segment number          16  8  offset of this frame in the segment
//!   24  8  durable_end: all of the segment before this offset was durable when the frame was written
//!   32  4  bytes of sections       36  4  number of sections
//!   40  8  first sequence number   48  8  last sequence number
//!   56  8  commit time, ms         64  8  table, if all sections are of one; otherwise zero
//!
//! section, 48 bytes and then keys and body: consecutive rows of one batch in one region
//!    0  4  CRC-32C of log id and bytes 4..48 and both keys
//!    4  4  CRC-32C of the body
//!    8  8  first sequence number of the batch; sections of one batch follow each other and share it
//!   16  8  table                   24  8  region
//!   32  4  number of rows          36  4  bytes of the body
//!   40  2  length of first key     42  2  length of last key     44  4  zero
//!   48     first key | last key | body: row entries as in `basalt_model::mutation`
//! ```
//!
//! The headers bind segment and offset, so that a frame at the wrong place is no frame; and the log id, a
//! random number, so that no user data and no other database can imitate one. First and last key are the
//! smallest and largest of the section: they are there to say what was hit when the body is damaged.

use basalt_model::mutation::RowMutation;
use basalt_model::{KeyRange, Seq, TableId};
use bytes::Bytes;

use crate::ids::RegionId;

pub(crate) const SEGMENT_HEADER: usize = 32;
pub(crate) const FRAME_HEADER: usize = 72;
const SECTION_HEADER: usize = 48;
const SEGMENT_MAGIC: &[u8; 8] = b"BSLTWAL1";
pub(crate) const FRAME_MAGIC: &[u8; 4] = b"BWFR";
pub(crate) const FORMAT: u32 = 1;

/// Header of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) segment: u64,
    pub(crate) offset: u64,
    pub(crate) durable_end: u64,
    pub(crate) payload_len: u32,
    pub(crate) section_count: u32,
    pub(crate) seq_first: Seq,
    pub(crate) seq_last: Seq,
    pub(crate) timestamp: i64,
    /// The table of all sections; zero if there are several.
    pub(crate) table: TableId,
}

/// Header of a section with its keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SectionHeader {
    pub(crate) body_crc: u32,
    pub(crate) seq: Seq,
    pub(crate) table: TableId,
    pub(crate) region: RegionId,
    pub(crate) row_count: u32,
    pub(crate) body_len: u32,
    pub(crate) first_row: Bytes,
    pub(crate) last_row: Bytes,
}

/// A section read back.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    pub(crate) seq: Seq,
    pub(crate) table: TableId,
    pub(crate) rows: Vec<RowMutation>,
}

/// Why a frame does not check out, and what it would have held as far as that can be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadFrame {
    pub(crate) what: String,
    pub(crate) table: Option<TableId>,
    pub(crate) range: Option<KeyRange>,
}

pub(crate) fn encode_segment_header(segment: u64, log_id: u64) -> [u8; SEGMENT_HEADER] {
    let mut header = [0; SEGMENT_HEADER];
    header[..8].copy_from_slice(SEGMENT_MAGIC);
    header[8..16].copy_from_slice(&segment.to_le_bytes());
    header[16..24].copy_from_slice(&log_id.to_le_bytes());
    header[24..28].copy_from_slice(&FORMAT.to_le_bytes());
    let crc = crc32c::crc32c(&header[..28]);
    header[28..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// The format version of a valid segment header of this log.
pub(crate) fn decode_segment_header(bytes: &[u8], segment: u64, log_id: u64) -> Option<u32> {
    let header = bytes.get(..SEGMENT_HEADER)?;
    let valid = header[..8] == *SEGMENT_MAGIC
        && u64_at(header, 8) == segment
        && u64_at(header, 16) == log_id
        && u32_at(header, 28) == crc32c::crc32c(&header[..28]);
    valid.then(|| u32_at(header, 24))
}

impl FrameHeader {
    pub(crate) fn encode(&self, log_id: u64) -> [u8; FRAME_HEADER] {
        let mut header = [0; FRAME_HEADER];
        header[..4].copy_from_slice(FRAME_MAGIC);
        header[8..16].copy_from_slice(&self.segment.to_le_bytes());
        header[16..24].copy_from_slice(&self.offset.to_le_bytes());
        header[24..32].copy_from_slice(&self.durable_end.to_le_bytes());
        header[32..36].copy_from_slice(&self.payload_len.to_le_bytes());
        header[36..40].copy_from_slice(&self.section_count.to_le_bytes());
        header[40..48].copy_from_slice(&self.seq_first.0.to_le_bytes());
        header[48..56].copy_from_slice(&self.seq_last.0.to_le_bytes());
        header[56..64].copy_from_slice(&self.timestamp.to_le_bytes());
        header[64..72].copy_from_slice(&self.table.0.to_le_bytes());
        let crc = crc32c::crc32c_append(crc32c::crc32c(&log_id.to_le_bytes()), &header[8..]);
        header[4..8].copy_from_slice(&crc.to_le_bytes());
        header
    }

    /// The header at `offset` of `segment`, if there is a valid one.
    pub(crate) fn decode(bytes: &[u8], segment: u64, offset: u64, log_id: u64) -> Option<Self> {
        let header = bytes.get(..FRAME_HEADER)?;
        if header[..4] != *FRAME_MAGIC {
            return None;
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&log_id.to_le_bytes()), &header[8..]);
        if u32_at(header, 4) != crc || u64_at(header, 8) != segment || u64_at(header, 16) != offset {
            return None;
        }
        Some(Self {
            segment,
            offset,
            durable_end: u64_at(header, 24),
            payload_len: u32_at(header, 32),
            section_count: u32_at(header, 36),
            seq_first: Seq(u64_at(header, 40)),
            seq_last: Seq(u64_at(header, 48)),
            timestamp: u64_at(header, 56) as i64,
            table: TableId(u64_at(header, 64)),
        })
    }
}

/// The rows of a section: how many, the smallest and the largest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SectionRows<'a> {
    pub(crate) count: u32,
    pub(crate) first: &'a [u8],
    pub(crate) last: &'a [u8],
}

/// Appends the section of rows whose entries are exactly `body`.
pub(crate) fn encode_section(
    out: &mut Vec<u8>,
    log_id: u64,
    (seq, table, region): (Seq, TableId, RegionId),
    SectionRows { count, first, last }: SectionRows<'_>,
    body: &[u8],
) {
    assert!(count > 0 && first <= last, "a section has rows");
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&crc32c::crc32c(body).to_le_bytes());
    out.extend_from_slice(&seq.0.to_le_bytes());
    out.extend_from_slice(&table.0.to_le_bytes());
    out.extend_from_slice(&region.0.to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(&(first.len() as u16).to_le_bytes());
    out.extend_from_slice(&(last.len() as u16).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(first);
    out.extend_from_slice(last);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&log_id.to_le_bytes()), &out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
    out.extend_from_slice(body);
}

/// A valid section header at the front of `bytes` and the length of header and keys.
pub(crate) fn decode_section_header(bytes: &Bytes, log_id: u64) -> Option<(SectionHeader, usize)> {
    let header = bytes.get(..SECTION_HEADER)?;
    let first_len = u16_at(header, 40) as usize;
    let last_len = u16_at(header, 42) as usize;
    let len = SECTION_HEADER + first_len + last_len;
    let whole = bytes.get(..len)?;
    let crc = crc32c::crc32c_append(crc32c::crc32c(&log_id.to_le_bytes()), &whole[4..]);
    if u32_at(header, 0) != crc {
        return None;
    }
    let section = SectionHeader {
        body_crc: u32_at(header, 4),
        seq: Seq(u64_at(header, 8)),
        table: TableId(u64_at(header, 16)),
        region: RegionId(u64_at(header, 24)),
        row_count: u32_at(header, 32),
        body_len: u32_at(header, 36),
        first_row: bytes.slice(SECTION_HEADER..SECTION_HEADER + first_len),
        last_row: bytes.slice(SECTION_HEADER + first_len..len),
    };
    Some((section, len))
}

/// All sections of a frame, each checked down to its last cell.
pub(crate) fn decode_sections(
    payload: &Bytes,
    header: &FrameHeader,
    log_id: u64,
) -> Result<Vec<Section>, BadFrame> {
    let mut rest = payload.clone();
    let mut sections =
        Vec::with_capacity((header.section_count as usize).min(payload.len() / SECTION_HEADER));
    while !rest.is_empty() {
        let Some((section, len)) = decode_section_header(&rest, log_id) else {
            let table = (header.table != TableId(0)).then_some(header.table);
            return Err(BadFrame {
                table,
                ..BadFrame::unknown("a section header does not match its checksum")
            });
        };
        let body = len.checked_add(section.body_len as usize).filter(|&end| end <= rest.len());
        let body =
            body.map(|end| rest.slice(len..end)).ok_or_else(|| section.bad("the section is cut off"))?;
        rest = rest.slice(len + body.len()..);
        sections.push(section.rows(body)?);
    }
    if sections.len() != header.section_count as usize {
        let what = format!("expected {} sections, found {}", header.section_count, sections.len());
        return Err(BadFrame::unknown(what));
    }
    Ok(sections)
}

impl SectionHeader {
    fn rows(&self, body: Bytes) -> Result<Section, BadFrame> {
        let found = crc32c::crc32c(&body);
        if found != self.body_crc {
            let what = format!("checksum mismatch: expected {:#010x}, found {found:#010x}", self.body_crc);
            return Err(self.bad(what));
        }
        let mut rows = Vec::with_capacity((self.row_count as usize).min(body.len() / 10));
        let mut rest = body;
        while !rest.is_empty() {
            let (row, len) = RowMutation::decode(&rest).map_err(|error| self.bad(error.to_string()))?;
            rest = rest.slice(len..);
            rows.push(row);
        }
        if rows.len() != self.row_count as usize {
            return Err(self.bad(format!("expected {} rows, found {}", self.row_count, rows.len())));
        }
        Ok(Section { seq: self.seq, table: self.table, rows })
    }

    /// The rows that the section covers.
    pub(crate) fn range(&self) -> KeyRange {
        let end = KeyRange::point(self.last_row.clone()).end;
        KeyRange { start: self.first_row.clone(), end }
    }

    pub(crate) fn bad(&self, what: impl Into<String>) -> BadFrame {
        BadFrame { what: what.into(), table: Some(self.table), range: Some(self.range()) }
    }
}

impl BadFrame {
    pub(crate) fn unknown(what: impl Into<String>) -> Self {
        Self { what: what.into(), table: None, range: None }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}
