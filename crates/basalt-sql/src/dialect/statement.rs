// SPDX-License-Identifier: Apache-2.0
//! Statements as read, before anything is looked up.

use std::fmt;
use std::sync::Arc;

use basalt_model::table::DEFAULT_NAMESPACE;
use basalt_model::{SortOrder, SqlType, TableName};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, OrderByExpr, Query, SelectItem, TableAlias, TableFactor,
};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

use super::TokenMap;
use super::copy::Copy;
use super::cursor::Cursor;
use super::fetch::CursorStatement;
use super::index::IndexStatement;
use super::merge::Merge;
use crate::explain::Form;

/// A statement with what surrounds it.
#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    /// What to do.
    pub(crate) statement: Statement,
    /// Its hints, in upper case.
    pub(crate) hints: Vec<String>,
    /// Where names stand in the text.
    pub(crate) tokens: TokenMap,
    /// Its text.
    pub(crate) text: Arc<str>,
    /// How many values its parameters need.
    pub(crate) parameters: usize,
}

/// One statement.
#[derive(Debug, Clone)]
pub(crate) enum Statement {
    /// SELECT, WITH or VALUES.
    Query(Box<Query>),
    /// UPSERT INTO (or INSERT INTO, which means the same here).
    Upsert(Upsert),
    /// DELETE FROM.
    Delete(Box<Delete>),
    /// UPDATE.
    Update(Box<Update>),
    /// MERGE.
    Merge(Box<Merge>),
    /// COPY.
    Copy(Box<Copy>),
    /// UPDATE STATISTICS.
    UpdateStatistics { table: Name },
    /// TRUNCATE TABLE.
    Truncate { table: Name, keep_regions: bool },
    /// CREATE TABLE.
    CreateTable(Box<CreateTable>),
    /// DROP TABLE.
    DropTable { name: Name, if_exists: bool, cascade: bool },
    /// CREATE VIEW.
    CreateView(Box<CreateView>),
    /// DROP VIEW.
    DropView { name: Name, if_exists: bool, cascade: bool },
    /// ALTER TABLE and ALTER VIEW.
    Alter(Box<Alter>),
    /// CREATE, DROP, ALTER and CHECK INDEX.
    Index(IndexStatement),
    /// CREATE SCHEMA.
    CreateSchema { name: String, if_not_exists: bool },
    /// DROP SCHEMA.
    DropSchema { name: String, if_exists: bool, cascade: bool },
    /// DECLARE, OPEN, FETCH and CLOSE.
    Cursor(CursorStatement),
    /// USE; `None` for USE DEFAULT.
    Use { schema: Option<String> },
    /// CREATE SEQUENCE.
    CreateSequence(CreateSequence),
    /// DROP SEQUENCE.
    DropSequence { name: Name, if_exists: bool },
    /// EXPLAIN.
    Explain { form: Form, statement: Box<Statement> },
    /// SHOW TABLES.
    ShowTables { schema: Option<String>, like: Option<String> },
    /// SHOW SCHEMAS.
    ShowSchemas { like: Option<String> },
    /// SHOW CREATE TABLE.
    ShowCreate { table: Name },
    /// DESCRIBE.
    Describe { table: Name },
}

impl Statement {
    /// Puts the schema before names of tables and sequences that have none. Those inside of queries are left to the
    /// planner.
    pub(crate) fn qualify(&mut self, schema: &str) {
        let qualify = |name: &mut Name| {
            name.schema.get_or_insert_with(|| schema.to_owned());
        };
        match self {
            Self::ShowSchemas { .. }
            | Self::Query(_)
            | Self::CreateSchema { .. }
            | Self::DropSchema { .. }
            | Self::Cursor(_)
            | Self::Use { .. } => {}
            Self::ShowTables { schema: shown, .. } => {
                shown.get_or_insert_with(|| schema.to_owned());
            }
            Self::Explain { statement, .. } => statement.qualify(schema),
            Self::CreateView(view) => {
                qualify(&mut view.name);
                view.base.iter_mut().for_each(qualify);
            }
            Self::Upsert(Upsert { table, .. })
            | Self::Truncate { table, .. }
            | Self::UpdateStatistics { table }
            | Self::Describe { table }
            | Self::ShowCreate { table }
            | Self::DropTable { name: table, .. }
            | Self::DropView { name: table, .. }
            | Self::DropSequence { name: table, .. }
            | Self::CreateSequence(CreateSequence { name: table, .. }) => qualify(table),
            Self::Update(update) => qualify(&mut update.table.name),
            Self::Delete(delete) => qualify(&mut delete.table.name),
            Self::Merge(merge) => qualify(&mut merge.table.name),
            Self::Copy(copy) => match copy.as_mut() {
                Copy::From(copy) => qualify(&mut copy.table),
                Copy::To(_) => {}
            },
            Self::CreateTable(table) => qualify(&mut table.name),
            Self::Alter(alter) => qualify(&mut alter.name),
            Self::Index(index) => qualify(&mut index.table),
        }
    }

    /// The table whose rows a statement changes.
    pub(crate) fn changed(&self) -> Option<&Name> {
        match self {
            Self::Upsert(upsert) => Some(&upsert.table),
            Self::Update(update) => Some(&update.table.name),
            Self::Delete(delete) => Some(&delete.table.name),
            Self::Merge(merge) => Some(&merge.table.name),
            Self::Copy(copy) => match copy.as_ref() {
                Copy::From(copy) => Some(&copy.table),
                Copy::To(_) => None,
            },
            _ => None,
        }
    }

    /// What a statement defines or drops.
    pub(crate) fn defined(&self) -> Option<&Name> {
        match self {
            Self::CreateTable(table) => Some(&table.name),
            Self::CreateView(view) => Some(&view.name),
            Self::Alter(alter) => Some(&alter.name),
            Self::Index(index) => Some(&index.table),
            Self::Truncate { table: name, .. }
            | Self::DropTable { name, .. }
            | Self::DropView { name, .. }
            | Self::DropSequence { name, .. }
            | Self::CreateSequence(CreateSequence { name, .. }) => Some(name),
            _ => None,
        }
    }
}

/// `[schema.]name` of a table or sequence, or `[family.]name` of a column.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Name {
    /// What stands before the dot.
    pub(crate) schema: Option<String>,
    /// The name itself.
    pub(crate) name: String,
}

impl Name {
    pub(super) fn parse(parser: &mut Parser) -> Result<Self, ParserError> {
        let first = parser.name_part()?;
        if parser.accept_symbol(".") {
            return Ok(Self { schema: Some(first), name: parser.name_part()? });
        }
        Ok(Self { schema: None, name: first })
    }

    /// The table of this name.
    pub(crate) fn table(&self) -> TableName {
        match &self.schema {
            Some(schema) => TableName::new(schema.clone(), self.name.clone()),
            None => TableName::in_default(self.name.clone()),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// UPSERT INTO table [(columns)] rows.
#[derive(Debug, Clone)]
pub(crate) struct Upsert {
    /// The table.
    pub(crate) table: Name,
    /// The columns listed; `None` for all in declared order.
    pub(crate) columns: Option<Vec<UpsertColumn>>,
    /// The rows.
    pub(crate) source: UpsertSource,
    /// What happens to rows that are there.
    pub(crate) on_duplicate: Option<OnDuplicate>,
    /// RETURNING: what to answer of each row; nothing if it is not written.
    pub(crate) returning: Vec<SelectItem>,
}

/// A column of an UPSERT.
#[derive(Debug, Clone)]
pub(crate) struct UpsertColumn {
    /// Family and name.
    pub(crate) name: Name,
    /// The type of a dynamic column.
    pub(crate) dynamic: Option<SqlType>,
}

/// ON DUPLICATE KEY.
#[derive(Debug, Clone)]
pub(crate) enum OnDuplicate {
    /// IGNORE: they stay as they are.
    Ignore,
    /// UPDATE: these columns get new values, computed from the row as it is.
    Update(Vec<(Name, Expr)>),
    /// UPDATE_ONLY: the same, and rows that are not there are not written.
    UpdateOnly(Vec<(Name, Expr)>),
}

/// The table that a statement changes, and what its expressions call it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The table.
    pub(crate) name: Name,
    /// What it is called, if not by its name.
    pub(crate) alias: Option<String>,
}

impl Target {
    /// `[schema.]name [[AS] alias]`; the words that may follow are no alias.
    pub(super) fn parse(parser: &mut Parser, following: &[&str]) -> Result<Self, ParserError> {
        let name = Name::parse(parser)?;
        let is_word = matches!(parser.peek_token_ref().token, Token::Word(_));
        let named = parser.accept("AS") || (is_word && !parser.at_any(following));
        Ok(Self { name, alias: if named { Some(parser.name_part()?) } else { None } })
    }

    /// The table of this name.
    pub(crate) fn table(&self) -> TableName {
        self.name.table()
    }

    /// What expressions call it.
    pub(crate) fn called(&self) -> &str {
        self.alias.as_ref().unwrap_or(&self.name.name)
    }

    /// Takes the place of a table in a query.
    pub(crate) fn put_into(&self, factor: &mut TableFactor) {
        if let TableFactor::Table { name, alias, .. } = factor {
            let schema = self.name.schema.iter().filter(|schema| *schema != DEFAULT_NAMESPACE);
            let parts = schema.chain([&self.name.name]).map(|part| Ident::with_quote('"', part));
            *name = ObjectName::from(parts.collect::<Vec<_>>());
            *alias = self.alias.as_ref().map(|called| TableAlias {
                explicit: true,
                name: Ident::with_quote('"', called),
                columns: vec![],
                at: None,
            });
        }
    }
}

/// UPDATE table SET column = expr, .. [WHERE ..].
#[derive(Debug, Clone)]
pub(crate) struct Update {
    /// The table.
    pub(crate) table: Target,
    /// Columns and their new values.
    pub(crate) assignments: Vec<(Name, Expr)>,
    /// Which rows; `None` for all.
    pub(crate) filter: Option<Expr>,
    /// RETURNING, as in [`Upsert`].
    pub(crate) returning: Vec<SelectItem>,
}

/// Where the rows of an UPSERT come from.
#[derive(Debug, Clone)]
pub(crate) enum UpsertSource {
    /// VALUES (..), (..).
    Values(Vec<Vec<Expr>>),
    /// A query.
    Query(Box<Query>),
}

/// DELETE FROM table [WHERE ..] [ORDER BY ..] [LIMIT n].
#[derive(Debug, Clone)]
pub(crate) struct Delete {
    /// The table.
    pub(crate) table: Target,
    /// Which rows; `None` for all.
    pub(crate) filter: Option<Expr>,
    /// In which order a LIMIT counts.
    pub(crate) order_by: Vec<OrderByExpr>,
    /// At most so many.
    pub(crate) limit: Option<Expr>,
    /// RETURNING, as in [`Upsert`].
    pub(crate) returning: Vec<SelectItem>,
}

/// CREATE TABLE.
#[derive(Debug, Clone)]
pub(crate) struct CreateTable {
    /// The table.
    pub(crate) name: Name,
    /// IF NOT EXISTS.
    pub(crate) if_not_exists: bool,
    /// IMMUTABLE was written.
    pub(crate) immutable: bool,
    /// NOVERIFY was written.
    pub(crate) no_verify: bool,
    /// Columns as declared.
    pub(crate) columns: Vec<ColumnDef>,
    /// CONSTRAINT .. PRIMARY KEY (..), in key order.
    pub(crate) primary_key: Option<Vec<(String, SortOrder)>>,
    /// Trailing options.
    pub(crate) options: Vec<OptionDef>,
    /// SPLIT ON: where regions begin.
    pub(crate) splits: Vec<Expr>,
    /// AS SELECT: where columns and rows come from.
    pub(crate) query: Option<Box<Query>>,
}

/// CREATE VIEW.
#[derive(Debug, Clone)]
pub(crate) struct CreateView {
    /// The view.
    pub(crate) name: Name,
    /// IF NOT EXISTS.
    pub(crate) if_not_exists: bool,
    /// Columns of its own.
    pub(crate) columns: Vec<ColumnDef>,
    /// CONSTRAINT .. PRIMARY KEY (..), of a view over cells.
    pub(crate) primary_key: Option<Vec<(String, SortOrder)>>,
    /// The table or view that it selects from; none for a view over cells.
    pub(crate) base: Option<Name>,
    /// Which rows.
    pub(crate) condition: Option<Expr>,
    /// Trailing options.
    pub(crate) options: Vec<OptionDef>,
}

/// ALTER TABLE or ALTER VIEW.
#[derive(Debug, Clone)]
pub(crate) struct Alter {
    /// VIEW was written.
    pub(crate) view: bool,
    /// The table or view.
    pub(crate) name: Name,
    /// What changes.
    pub(crate) change: AlterChange,
}

/// What ALTER changes.
#[derive(Debug, Clone)]
pub(crate) enum AlterChange {
    /// ADD columns.
    Add { if_not_exists: bool, columns: Vec<ColumnDef>, options: Vec<OptionDef>, cascade: Option<Cascade> },
    /// DROP COLUMN.
    Drop { if_exists: bool, columns: Vec<Name> },
    /// SET options.
    Set { options: Vec<OptionDef> },
}

/// Indexes that include the columns of ADD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Cascade {
    /// All indexes of the table or view.
    All,
    /// These.
    Named(Vec<String>),
}

/// One column of CREATE TABLE.
#[derive(Debug, Clone)]
pub(crate) struct ColumnDef {
    /// Family (before the dot) and name.
    pub(crate) name: Name,
    /// Type.
    pub(crate) sql_type: SqlType,
    /// `Some(false)` for NOT NULL, `Some(true)` for NULL.
    pub(crate) nullable: Option<bool>,
    /// PRIMARY KEY [ASC|DESC] on the column itself.
    pub(crate) primary_key: Option<SortOrder>,
    /// ROW_TIMESTAMP, here or in the table's PRIMARY KEY.
    pub(crate) row_timestamp: bool,
    /// DEFAULT.
    pub(crate) default: Option<Expr>,
}

/// `[family.]option = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionDef {
    /// Family it is for; all when `None`.
    pub(crate) family: Option<String>,
    /// Name in upper case.
    pub(crate) name: String,
    /// Value as text, without quotes.
    pub(crate) value: String,
}

/// CREATE SEQUENCE; numbers as written.
#[derive(Debug, Clone)]
pub(crate) struct CreateSequence {
    /// The sequence.
    pub(crate) name: Name,
    /// IF NOT EXISTS.
    pub(crate) if_not_exists: bool,
    /// START WITH.
    pub(crate) start: Option<i64>,
    /// INCREMENT BY.
    pub(crate) increment: Option<i64>,
    /// MINVALUE.
    pub(crate) min: Option<i64>,
    /// MAXVALUE.
    pub(crate) max: Option<i64>,
    /// CYCLE.
    pub(crate) cycle: bool,
    /// CACHE.
    pub(crate) cache: Option<i64>,
}
