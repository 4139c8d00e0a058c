// SPDX-License-Identifier: Apache-2.0
//! Cutting a scan into partitions: contiguous runs of segments of about equal size.

use basalt_model::KeyRange;
use basalt_store::read::Segment;

/// Scans of fewer bytes than this are not worth a second thread.
const PARTITION_BYTES_MIN: u64 = 256 * 1024;

/// Parts, about, of a scan that begins at the end of the key.
const PARTS_BACKWARDS: u64 = 64;

/// Key ranges of one partition, sorted, and about how many bytes they hold.
#[derive(Debug, Clone, Default)]
pub(super) struct Partition {
    pub(super) ranges: Vec<KeyRange>,
    pub(super) bytes: u64,
}

/// How many partitions a scan of so many bytes gets.
pub(super) fn wanted(bytes: u64, partitions_max: usize) -> usize {
    let useful = usize::try_from(bytes / PARTITION_BYTES_MIN).unwrap_or(usize::MAX);
    useful.clamp(1, partitions_max.max(1))
}

/// Joins segments so that those at the end of the key are as small as they can be, and each one before them as large as all behind it, up to
/// a part of the whole: whoever wants the last rows finds them in one of the first that he reads backwards.
pub(super) fn finer_at_the_end(segments: Vec<Segment>) -> Vec<Segment> {
    let total: u64 = segments.iter().map(|segment| segment.bytes_estimate).sum();
    let most = total / PARTS_BACKWARDS;
    let mut behind = 0;
    let mut joined: Vec<Segment> = vec![];
    for segment in segments.into_iter().rev() {
        let bytes = segment.bytes_estimate;
        match joined.last_mut() {
            Some(last)
                if segment.range.end.as_ref() == Some(&last.range.start)
                    && last.bytes_estimate + bytes <= most.min(behind - last.bytes_estimate) =>
            {
                last.range.start = segment.range.start;
                last.bytes_estimate += bytes;
            }
            _ => joined.push(segment),
        }
        behind += bytes;
    }
    joined.reverse();
    joined
}

/// Deals the segments out in order, so that partitions hold about the same number of bytes.
pub(super) fn group(segments: Vec<Segment>, count: usize) -> Vec<Partition> {
    let total: u64 = segments.iter().map(|segment| segment.bytes_estimate).sum();
    let mut partitions: Vec<Partition> = vec![];
    let mut dealt = 0;
    for segment in segments {
        // A segment belongs to the partition in which its middle lies.
        let middle = dealt + segment.bytes_estimate / 2;
        let index = (u128::from(middle) * count as u128 / u128::from(total.max(1))) as usize;
        let index = index.min(count - 1);
        dealt += segment.bytes_estimate;
        if partitions.len() <= index {
            partitions.resize_with(index + 1, Partition::default);
        }
        let partition = &mut partitions[index];
        partition.ranges.push(segment.range);
        partition.bytes += segment.bytes_estimate;
    }
    partitions.retain(|partition| !partition.ranges.is_empty());
    partitions
}
