// SPDX-License-Identifier: Apache-2.0
//! A statement between its text and its answer.

use crate::dialect::{Statement, TokenMap};
use crate::hints::Hints;
use crate::outcome::RowStream;
use crate::running::Ticket;

/// What [`Session::begin`](crate::Session::begin) came to.
#[derive(Debug)]
pub enum Begun {
    /// The rows of a query, all of which are there: reading them waits for nothing.
    Answered(RowStream),
    /// A statement that takes longer.
    Waiting(Box<Waiting>),
}

/// A statement that was read and has not run. Dropping it is as if it had never been asked for.
#[derive(Debug)]
pub struct Waiting {
    pub(crate) statement: Statement,
    pub(crate) tokens: TokenMap,
    pub(crate) hints: Hints,
    pub(crate) ticket: Ticket,
    /// See [`crate::deep`].
    pub(crate) is_long: bool,
}
