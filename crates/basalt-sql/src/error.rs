// SPDX-License-Identifier: Apache-2.0
//! What a failed statement answers, and the one place where the planner's and the store's errors are
//! translated.
//!
//! A [`SqlError`] is a sentence, and where they are known: the position of the mistake in the text, Phoenix's
//! code and SQLSTATE, and the nearest name that exists. The planner's errors carry prefixes, backtraces and
//! internal type names; [`SqlError::from_planner`] takes them off and gives the code by the kind of mistake.

pub(crate) mod code;
mod functions;
mod instead;
mod nearest;
mod place;
mod refused;
mod syntax;
mod translate;
mod unsupported;

use std::error::Error;
use std::fmt;

pub use code::PhoenixCode;
pub(crate) use nearest::nearest;
pub(crate) use translate::readable_type;

use basalt_hfile::typed::TypedError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::TokenizerError;

use crate::dialect::TokenMap;

/// Line and column in the statement's text, both from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Whose mistake it was; decides the exit code of the command line and whether to try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The statement or its data was wrong.
    Statement,
    /// Bytes of the database are damaged.
    Damaged,
    /// The file system or the machine refused.
    Storage,
    /// Memory, disk space or another limit ended.
    Resources,
    /// A bug of Basalt.
    Internal,
}

/// Why a statement failed.
#[derive(Debug)]
pub struct SqlError {
    details: Box<Details>,
}

#[derive(Debug)]
struct Details {
    kind: ErrorKind,
    message: String,
    code: Option<PhoenixCode>,
    sqlstate: &'static str,
    position: Option<Position>,
    suggestion: Option<String>,
    /// A plan asked for more memory than there was, and nothing was written.
    lacks_memory: bool,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl SqlError {
    /// A mistake in the statement.
    pub fn statement(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, message)
    }

    /// A mistake in the statement that Phoenix has a code for.
    pub(crate) fn coded(code: PhoenixCode, message: impl Into<String>) -> Self {
        Self::statement(message).with_code(code)
    }

    /// A statement that Basalt understands and does not carry out.
    pub(crate) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, message).with_state(code::NOT_SUPPORTED)
    }

    /// Somebody else was faster: the statement may succeed if it is tried again.
    pub(crate) fn overtaken(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Statement, message).with_state(code::TRY_AGAIN)
    }

    /// A limit that ended, with Phoenix's code.
    pub(crate) fn limited(code: PhoenixCode, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Resources, message).with_code(code)
    }

    /// A bug of ours.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            details: Box::new(Details {
                kind,
                message,
                code: None,
                sqlstate: code::state_of(kind),
                position: None,
                suggestion: None,
                lacks_memory: false,
                source: None,
            }),
        }
    }

    fn with_code(mut self, code: PhoenixCode) -> Self {
        self.details.code = Some(code);
        self.with_state(code.sqlstate)
    }

    fn with_state(mut self, sqlstate: &'static str) -> Self {
        self.details.sqlstate = sqlstate;
        self
    }

    /// Adds the position unless there is one.
    pub(crate) fn at(mut self, position: Option<Position>) -> Self {
        self.details.position = self.details.position.or(position);
        self
    }

    /// Adds the place of what a mistake in the statement is about, if that is not known and the statement names it.
    pub(crate) fn near(self, tokens: &TokenMap) -> Self {
        if self.details.position.is_some() || self.details.kind != ErrorKind::Statement {
            return self;
        }
        let place = place::of(&self.details.message, tokens);
        self.at(place)
    }

    /// Adds the name that was probably meant.
    pub(crate) fn suggest(mut self, name: Option<String>) -> Self {
        self.details.suggestion = name;
        self
    }

    /// Adds what happened below.
    pub(crate) fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.details.source = Some(source.into());
        self
    }

    /// Puts words before the message.
    pub(crate) fn within(mut self, place: impl fmt::Display) -> Self {
        self.details.message = format!("{place}: {}", self.details.message);
        self
    }

    /// A plan asked for more memory than there was.
    pub(crate) fn of_memory(mut self) -> Self {
        self.details.lacks_memory = true;
        self
    }

    /// The same of a statement whose rows are written already: it must not begin again.
    pub(crate) fn after_writing(mut self) -> Self {
        self.details.lacks_memory = false;
        self
    }

    /// True if a plan asked for more memory than there was, and the statement may begin again.
    pub(crate) fn lacks_memory(&self) -> bool {
        self.details.lacks_memory
    }

    /// Whose mistake it was.
    pub fn kind(&self) -> ErrorKind {
        self.details.kind
    }

    /// The sentence alone, without position and suggestion.
    pub fn message(&self) -> &str {
        &self.details.message
    }

    /// Where in the text.
    pub fn position(&self) -> Option<Position> {
        self.details.position
    }

    /// Phoenix's code and SQLSTATE, if Phoenix knows the mistake.
    pub fn code(&self) -> Option<PhoenixCode> {
        self.details.code
    }

    /// The SQLSTATE: that of Phoenix's code; of mistakes that Phoenix does not know the standard's (or, of what the standard does not have,
    /// PostgreSQL's).
    pub fn sqlstate(&self) -> &'static str {
        self.details.sqlstate
    }

    /// The name that was probably meant.
    pub fn suggestion(&self) -> Option<&str> {
        self.details.suggestion.as_deref()
    }

    pub(crate) fn from_parser(error: ParserError, sql: &str) -> Self {
        syntax::parser(error, sql)
    }

    pub(crate) fn from_tokenizer(error: TokenizerError, sql: &str) -> Self {
        syntax::tokenizer(&error, sql)
    }

    /// Translates an error of planning or running; names in it get the position they have in the text.
    pub(crate) fn from_planner(error: DataFusionError, tokens: &TokenMap) -> Self {
        translate::planner(error, tokens).near(tokens)
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.details.message)?;
        if let Some(name) = &self.details.suggestion {
            write!(f, "; did you mean {name}?")?;
        }
        if let Some(position) = self.details.position {
            write!(f, " (line {}, column {})", position.line, position.column)?;
        }
        Ok(())
    }
}

impl Error for SqlError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.details.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        Self::from_planner(error, &TokenMap::default())
    }
}

impl From<SqlError> for DataFusionError {
    fn from(error: SqlError) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

impl From<TypedError> for SqlError {
    /// Of reading; what is refused when writing is taken apart in [`crate::ingest`].
    fn from(error: TypedError) -> Self {
        let kind = if error.is_damage() { ErrorKind::Damaged } else { ErrorKind::Internal };
        Self::new(kind, error.to_string()).caused_by(error)
    }
}

impl From<basalt_store::Error> for SqlError {
    fn from(error: basalt_store::Error) -> Self {
        translate::store(error)
    }
}

#[cfg(test)]
mod tests;
