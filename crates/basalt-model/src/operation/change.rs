// SPDX-License-Identifier: Apache-2.0
//! Changes of one row.

use bytes::Bytes;

/// One new cell of a [`Put`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCell {
    /// Column family.
    pub family: Bytes,
    /// Column qualifier; may be empty.
    pub qualifier: Bytes,
    /// The user's version; `None` for the time of the commit.
    pub timestamp: Option<i64>,
    /// The value; may be empty.
    pub value: Bytes,
}

/// Writes cells of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Put {
    pub(crate) row: Bytes,
    /// The cells, in the order given.
    pub cells: Vec<NewCell>,
    /// Milliseconds after their timestamps at which the cells expire, if before the family's TTL.
    pub ttl_ms: Option<u64>,
}

impl Put {
    /// A put without cells.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), cells: Vec::new(), ttl_ms: None }
    }

    /// Adds a cell with the time of the commit.
    #[must_use]
    pub fn add(
        mut self,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier, value) = (family.into(), qualifier.into(), value.into());
        self.cells.push(NewCell { family, qualifier, timestamp: None, value });
        self
    }

    /// Adds a cell with a timestamp of the caller's.
    #[must_use]
    pub fn add_at(
        mut self,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        timestamp: i64,
        value: impl Into<Bytes>,
    ) -> Self {
        let (family, qualifier, value) = (family.into(), qualifier.into(), value.into());
        self.cells.push(NewCell { family, qualifier, timestamp: Some(timestamp), value });
        self
    }

    /// Lets the cells expire this many milliseconds after their timestamps.
    #[must_use]
    pub fn ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self
    }

    /// The row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }
}

/// What a [`Delete`] deletes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeletePart {
    /// One version of a column: the one with this timestamp, the newest if `None`.
    Version {
        /// Column family.
        family: Bytes,
        /// Column qualifier.
        qualifier: Bytes,
        /// The version.
        timestamp: Option<i64>,
    },
    /// All versions of a column up to this timestamp, all that exist if `None`.
    Column {
        /// Column family.
        family: Bytes,
        /// Column qualifier.
        qualifier: Bytes,
        /// Newest version that goes.
        timestamp: Option<i64>,
    },
    /// All columns of a family up to this timestamp, all that exist if `None`.
    Family {
        /// Column family.
        family: Bytes,
        /// Newest version that goes.
        timestamp: Option<i64>,
    },
    /// The versions with exactly this timestamp of all columns of a family.
    FamilyVersion {
        /// Column family.
        family: Bytes,
        /// The version.
        timestamp: i64,
    },
}

impl DeletePart {
    /// The family concerned.
    pub fn family(&self) -> &Bytes {
        match self {
            Self::Version { family, .. }
            | Self::Column { family, .. }
            | Self::Family { family, .. }
            | Self::FamilyVersion { family, .. } => family,
        }
    }
}

/// Deletes cells of one row; without parts, the whole row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    pub(crate) row: Bytes,
    /// Newest version that goes with the whole row; `None` for all that exist.
    pub timestamp: Option<i64>,
    /// What goes; everything if empty.
    pub parts: Vec<DeletePart>,
}

impl Delete {
    /// Deletes the whole row, unless parts are added.
    pub fn new(row: impl Into<Bytes>) -> Self {
        Self { row: row.into(), timestamp: None, parts: Vec::new() }
    }

    /// Deletes the whole row up to a timestamp, unless parts are added.
    pub fn up_to(row: impl Into<Bytes>, timestamp: i64) -> Self {
        Self { row: row.into(), timestamp: Some(timestamp), parts: Vec::new() }
    }

    /// Adds the newest version of a column.
    #[must_use]
    pub fn newest_version(self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        self.part(DeletePart::Version { family, qualifier, timestamp: None })
    }

    /// Adds one version of a column.
    #[must_use]
    pub fn version(self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>, timestamp: i64) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        self.part(DeletePart::Version { family, qualifier, timestamp: Some(timestamp) })
    }

    /// Adds all versions of a column.
    #[must_use]
    pub fn column(self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>) -> Self {
        let (family, qualifier) = (family.into(), qualifier.into());
        self.part(DeletePart::Column { family, qualifier, timestamp: None })
    }

    /// Adds a whole family.
    #[must_use]
    pub fn family(self, family: impl Into<Bytes>) -> Self {
        self.part(DeletePart::Family { family: family.into(), timestamp: None })
    }

    /// Adds one version of all columns of a family.
    #[must_use]
    pub fn family_version(self, family: impl Into<Bytes>, timestamp: i64) -> Self {
        self.part(DeletePart::FamilyVersion { family: family.into(), timestamp })
    }

    /// Adds a part. As in HBase's client, a whole family replaces what was named of it before.
    #[must_use]
    pub fn part(mut self, part: DeletePart) -> Self {
        if let DeletePart::Family { family, .. } = &part {
            self.parts.retain(|before| before.family() != family);
        }
        self.parts.push(part);
        self
    }

    /// The row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }
}

/// Adds amounts to 64-bit big-endian counters of one row. A column that is not there counts as 0; a value of
/// another length is an error. Overflow wraps, as in HBase.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Increment {
    pub(crate) row: Bytes,
    /// Family, qualifier, amount.
    pub amounts: Vec<(Bytes, Bytes, i64)>,
    /// Timestamp of columns that are new; others get the time of the commit.
    pub timestamp: Option<i64>,
    /// Only values with these timestamps are found.
    pub time_range: super::TimeRange,
    /// Milliseconds after their timestamps at which the new cells expire; `None`: as the cells that they replace.
    pub ttl_ms: Option<u64>,
}

impl Increment {
    /// An increment without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        let (amounts, time_range) = (Vec::new(), super::TimeRange::all());
        Self { row: row.into(), amounts, timestamp: None, time_range, ttl_ms: None }
    }

    /// Adds a column.
    #[must_use]
    pub fn add(mut self, family: impl Into<Bytes>, qualifier: impl Into<Bytes>, amount: i64) -> Self {
        self.amounts.push((family.into(), qualifier.into(), amount));
        self
    }

    /// Sets the timestamp of columns that are new.
    #[must_use]
    pub fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Lets the new cells expire this many milliseconds after their timestamps.
    #[must_use]
    pub fn ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self
    }

    /// The row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }
}

/// Appends bytes to values of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Append {
    pub(crate) row: Bytes,
    /// Family, qualifier, bytes.
    pub values: Vec<(Bytes, Bytes, Bytes)>,
    /// Timestamp of columns that are new; others get the time of the commit.
    pub timestamp: Option<i64>,
    /// Only values with these timestamps are found.
    pub time_range: super::TimeRange,
    /// Milliseconds after their timestamps at which the new cells expire; `None`: as the cells that they replace.
    pub ttl_ms: Option<u64>,
}

impl Append {
    /// An append without columns.
    pub fn new(row: impl Into<Bytes>) -> Self {
        let (values, time_range) = (Vec::new(), super::TimeRange::all());
        Self { row: row.into(), values, timestamp: None, time_range, ttl_ms: None }
    }

    /// Adds a column.
    #[must_use]
    pub fn add(
        mut self,
        family: impl Into<Bytes>,
        qualifier: impl Into<Bytes>,
        value: impl Into<Bytes>,
    ) -> Self {
        self.values.push((family.into(), qualifier.into(), value.into()));
        self
    }

    /// Sets the timestamp of columns that are new.
    #[must_use]
    pub fn at(mut self, timestamp: i64) -> Self {
        self.timestamp = Some(timestamp);
        self
    }

    /// Lets the new cells expire this many milliseconds after their timestamps.
    #[must_use]
    pub fn ttl_ms(mut self, ttl_ms: u64) -> Self {
        self.ttl_ms = Some(ttl_ms);
        self
    }

    /// The row.
    pub fn row(&self) -> &[u8] {
        &self.row
    }
}

/// Any change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mutation {
    /// See [`Put`].
    Put(Put),
    /// See [`Delete`].
    Delete(Delete),
    /// See [`Increment`].
    Increment(Increment),
    /// See [`Append`].
    Append(Append),
}

impl Mutation {
    /// The row.
    pub fn row(&self) -> &[u8] {
        match self {
            Self::Put(put) => put.row(),
            Self::Delete(delete) => delete.row(),
            Self::Increment(increment) => increment.row(),
            Self::Append(append) => append.row(),
        }
    }
}

macro_rules! into_mutation {
    ($($kind:ident),*) => {$(
        impl From<$kind> for Mutation {
            fn from(change: $kind) -> Self {
                Self::$kind(change)
            }
        }
    )*};
}
into_mutation!(Put, Delete, Increment, Append);
