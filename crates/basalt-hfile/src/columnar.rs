// SPDX-License-Identifier: Apache-2.0
//! COLUMNAR: a block is a row group, its columns apart from each other. `docs/format.md` has the bytes with worked
//! examples, `docs/rfcs/0008-columnar-blocks.md` the reasons and the figures.
//!
//! ```text
//! block header, 33 bytes, magic DATABLKC     as every block of the file, without checksums
//! head                                       what there is, where it lies, smallest and largest values
//! sections                                   one per key part and per column's values, presence, timestamps, …
//! ```
//!
//! Each section is cut into *vectors*, one per 1,024 rows, and its vectors into pages that are checksummed, and
//! compressed if the family has a codec. So a query of one column reads, verifies and decodes its section, and a
//! point read one vector of each column.
//!
//! ```text
//! cells -> group (rows by column) -> form (bytes as integers, if they come back) -> section (a scheme by sampling,
//! vectors, pages) -> head
//! ```
//!
//! | module | |
//! |---|---|
//! | [`batch`] | writing: rows that come by column |
//! | [`group`], [`gathered`], [`encode`] | writing: cells by column, and into a block |
//! | [`block`], [`rows`], [`cells`] | reading: an open block, its row keys, its rows as cells |
//! | [`vectors`] | reading: a column of a vector as it is stored |
//! | [`beside`] | columns that are kept as distances from another |
//! | [`select`], [`mask`] | reading: the rows that satisfy a predicate |
//! | [`key`], [`form`] | row keys as parts; values as integers |
//! | [`head`], [`section`], [`bound`], [`place`] | the parts of a block, their bounds and checksums |
//! | [`ints`], [`frame`], [`alp`], [`bitpack`] | vectors of integers |
//! | [`texts`], [`fsst`], [`strings`] | vectors of strings |
//! | [`sketch`] | how many different values a column has |
//! | [`fuzzed`] | what fuzzers need |

mod alp;
mod ascending;
mod batch;
mod beside;
mod bitpack;
mod block;
mod bound;
mod cells;
mod encode;
mod form;
mod frame;
mod fsst;
pub(crate) mod fuzzed;
mod gathered;
mod group;
mod head;
mod held;
mod input;
mod ints;
mod key;
mod mask;
mod place;
mod processor;
mod room;
mod rows;
mod section;
mod select;
mod sets;
mod sketch;
mod strings;
mod texts;
mod vectors;
mod whole;

pub use batch::ColumnBatch;
pub use block::{ColumnarBlock, NumberRange, SectionFacts, SectionShelf, ValueSource};
pub use bound::{Bound, Bounds, TextBound};
pub use form::Form;
pub use mask::Mask;
pub use rows::KeyRows;
pub use section::Section;
pub(crate) use select::Facts;
pub use select::{Binder, BoundPredicate, Verdict};
pub use sketch::{Sketch, Sketches};
pub use whole::WholeFacts;

pub(crate) use block::FIRST_READ;
pub(crate) use cells::PartCursor;
pub(crate) use encode::{EncodedGroup, encode, seal};
pub(crate) use form::{float_32, float_64};
pub(crate) use gathered::Gathered;
pub(crate) use group::Group;
pub(crate) use key::KeyPart;
pub(crate) use place::Seal;
pub(crate) use strings::{StringList, Strings, Utf8Strings};
pub(crate) use texts::Dictionary;
pub(crate) use vectors::{ColumnVector, Held, Numbers, Place, Stored, VectorValues};

/// Rows of a vector.
pub const VECTOR: usize = 1024;
/// Most rows of a block.
pub const ROWS_MAX: usize = 1 << 16;
/// Most columns of a block.
pub(crate) const COLUMNS_MAX: usize = 1024;
/// Longest qualifier of a block.
const QUALIFIER_MAX: usize = 4096;
/// Most parts of a row key.
const KEY_PARTS_MAX: usize = 64;

#[cfg(test)]
mod tests;
