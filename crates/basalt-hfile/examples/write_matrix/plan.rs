// SPDX-License-Identifier: Apache-2.0
//! Which files there are: every encoding with every codec, and over them all other options in turn.

use basalt_hfile::{BloomKind, Checksum, Compression, Encoding, WriterOptions, bloom::HashKind};

use crate::cells::Kind;
use crate::chance::Chance;

/// A file to write.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) options: WriterOptions,
}

/// All files, from a seed.
pub(crate) fn plans(seed: u64) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut turn = 0;
    for encoding in Encoding::OF_HBASE {
        for compression in Compression::ALL {
            for kind in [Kind::Mixed, Kind::Tagged, Kind::Prefixed] {
                plans.push(plan(seed, turn, kind, encoding, compression));
                turn += 1;
            }
            plans.push(regular(seed, plans.len(), encoding, compression));
        }
        for kind in [Kind::Big, Kind::Empty] {
            for compression in [Compression::None, Compression::ALL[1 + turn % 4]] {
                plans.push(plan(seed, turn, kind, encoding, compression));
                turn += 1;
            }
        }
    }
    for bloom in [BloomKind::Row, BloomKind::RowCol] {
        let mut plan = plan(seed, turn, Kind::Many, Encoding::None, Compression::Lz4);
        plan.name = format!("{}_{}", plan.name, bloom.name());
        plan.options.bloom = bloom;
        plans.push(plan);
    }
    plans
}

/// Rows that are written as runs: neither blocks of a few cells nor a filter that asks for each cell.
fn regular(seed: u64, turn: usize, encoding: Encoding, compression: Compression) -> Plan {
    let mut plan = plan(seed, turn, Kind::Regular, encoding, compression);
    plan.options.block_bytes = plan.options.block_bytes.max(2_048);
    if plan.options.bloom == BloomKind::RowCol {
        plan.options.bloom = BloomKind::Row;
    }
    plan
}

/// Options go round at different paces, so that over the files each value meets each of the others.
fn plan(seed: u64, turn: usize, kind: Kind, encoding: Encoding, compression: Compression) -> Plan {
    let name = format!("{encoding}_{compression}_{kind:?}").to_lowercase();
    let mut chance = Chance::new(seed, &format!("options of {name}"));
    let blooms = [BloomKind::Row, BloomKind::RowCol, BloomKind::RowPrefix(3), BloomKind::None];
    let large = matches!(kind, Kind::Big | Kind::Many);
    let options = WriterOptions {
        encoding,
        compression,
        compression_level: None,
        block_bytes: if large { 65_536 } else { chance.pick(&[100, 1_024, 8_192, 65_536]) },
        bloom: blooms[turn % 4],
        bloom_hash: [HashKind::Murmur, HashKind::Jenkins, HashKind::Murmur3][turn / 4 % 3],
        with_seq: turn % 3 != 2 || chance.one_in(2),
        with_tags: kind == Kind::Tagged || chance.one_in(8),
        tags_compressed: kind == Kind::Tagged && turn / 3 % 2 == 1,
        create_time_ms: 1_700_000_000_000,
        index_block_bytes: if large { 131_072 } else { chance.pick(&[300, 2_000, 131_072]) },
        checksum: [Checksum::Crc32c, Checksum::Crc32, Checksum::Null][turn / 2 % 3],
        checksum_chunk_bytes: chance.pick(&[64, 1_000, 16_384]),
        ..WriterOptions::default()
    };
    Plan { name, kind, options }
}
