// SPDX-License-Identifier: Apache-2.0
//! The titles of result columns, as Phoenix gives them: `COUNT(1)`, `(A + B)`, `DISTINCT_COUNT(REG)`. The planner
//! names columns for itself; these names take their place in the answer only, so that no alias changes what a query means.

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, BinaryOperator, CaseWhen, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Query, Select, SelectItem, SetExpr, Subscript, TableFactor, TableWithJoins,
    UnaryOperator, Value,
};

use crate::dialect::{CURRENT_VALUE, NEXT_VALUE};

/// What the select list says about titles.
#[derive(Debug, Clone, Default)]
pub(crate) struct Titles {
    items: Vec<Item>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    Title(String),
    /// As many columns as `*` stands for.
    Wildcard,
}

impl Titles {
    /// Of the outermost select list; of the leftmost one if it is a union.
    pub(crate) fn of(query: &Query) -> Self {
        Self { items: leftmost(&query.body).map(items).unwrap_or_default() }
    }

    /// The schema with these titles. Columns that are not listed by name keep the names they have.
    pub(crate) fn put_on(&self, schema: &SchemaRef) -> SchemaRef {
        let columns = schema.fields().len();
        let wildcards = self.items.iter().filter(|item| **item == Item::Wildcard).count();
        let titles = self.items.len() - wildcards;
        if titles == 0 || wildcards > 1 || titles > columns || (wildcards == 0 && titles < columns) {
            return SchemaRef::clone(schema);
        }
        let mut fields = Vec::with_capacity(columns);
        let mut rest = schema.fields().iter();
        for item in &self.items {
            match item {
                Item::Title(title) => {
                    fields.extend(rest.next().map(|field| field.as_ref().clone().with_name(title)));
                }
                Item::Wildcard => {
                    fields.extend(rest.by_ref().take(columns - titles).map(|field| field.as_ref().clone()));
                }
            }
        }
        SchemaRef::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }
}

fn leftmost(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => leftmost(&query.body),
        SetExpr::SetOperation { left, .. } => leftmost(left),
        _ => None,
    }
}

fn items(select: &Select) -> Vec<Item> {
    // A qualifier tells columns of joined tables apart; elsewhere it says nothing.
    let is_joined = |table: &TableWithJoins| {
        !table.joins.is_empty() || matches!(table.relation, TableFactor::NestedJoin { .. })
    };
    let joined = select.from.len() > 1 || select.from.iter().any(is_joined);
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expr) => Item::Title(title(expr, joined)),
        SelectItem::ExprWithAlias { alias, .. } => Item::Title(alias.value.clone()),
        _ => Item::Wildcard,
    });
    items.collect()
}

fn title(expr: &Expr, joined: bool) -> String {
    match expr {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) if joined => dotted(parts, |part| part.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|part| part.value.clone()).unwrap_or_default(),
        Expr::Nested(inner) => title(inner, joined),
        Expr::Cast { expr, .. } => title(expr, joined),
        _ => text(expr),
    }
}

fn dotted(parts: &[Ident], part: impl Fn(&Ident) -> String) -> String {
    parts.iter().map(part).collect::<Vec<_>>().join(".")
}

fn identifier(name: &Ident) -> String {
    let plain = !name.value.is_empty()
        && name.value.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if plain { name.value.clone() } else { format!("\"{}\"", name.value) }
}

/// An expression in Phoenix's words.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(name) => identifier(name),
        Expr::CompoundIdentifier(parts) => dotted(parts, identifier),
        Expr::Nested(inner) => text(inner),
        Expr::Cast { expr, .. } => text(expr),
        Expr::BinaryOp { left, op, right } => binary(left, op, right),
        Expr::UnaryOp { op: UnaryOperator::Not, expr } => format!("NOT ({})", text(expr)),
        Expr::UnaryOp { op, expr } => format!("{op}{}", text(expr)),
        Expr::Between { expr, negated, low, high } => {
            let between = format!("({0} >= {1} AND {0} <= {2})", text(expr), text(low), text(high));
            if *negated { format!("NOT ({between})") } else { between }
        }
        Expr::IsNull(expr) => format!("{} IS NULL", text(expr)),
        Expr::IsNotNull(expr) => format!("{} IS NOT NULL", text(expr)),
        Expr::Like { negated, expr, pattern, any: false, escape_char: None } => {
            let like = format!("{} LIKE {}", text(expr), text(pattern));
            if *negated { format!("NOT ({like})") } else { like }
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            case(operand.as_deref(), conditions, else_result.as_deref())
        }
        Expr::Function(function) => call(function),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.as_slice() {
            [AccessExpr::Subscript(Subscript::Index { index })] => {
                format!("ARRAY_ELEM({}, {})", text(root), text(index))
            }
            _ => expr.to_string(),
        },
        Expr::Array(array) => {
            let elements: Vec<_> = array.elem.iter().map(text).collect();
            format!("ARRAY[{}]", elements.join(","))
        }
        Expr::Substring { expr, substring_from, substring_for, .. } => {
            let arguments = [Some(expr), substring_from.as_ref(), substring_for.as_ref()];
            let arguments: Vec<_> = arguments.into_iter().flatten().map(|argument| text(argument)).collect();
            format!("SUBSTR({})", arguments.join(", "))
        }
        _ => expr.to_string(),
    }
}

fn binary(left: &Expr, op: &BinaryOperator, right: &Expr) -> String {
    let op_text = match op {
        BinaryOperator::NotEq => "!=".to_owned(),
        other => other.to_string(),
    };
    let whole = format!("{} {op_text} {}", text(left), text(right));
    match op {
        BinaryOperator::Eq
        | BinaryOperator::NotEq
        | BinaryOperator::Lt
        | BinaryOperator::LtEq
        | BinaryOperator::Gt
        | BinaryOperator::GtEq => whole,
        _ => format!("({whole})"),
    }
}

fn case(operand: Option<&Expr>, conditions: &[CaseWhen], otherwise: Option<&Expr>) -> String {
    let subject = operand.map(|operand| format!("{} = ", text(operand))).unwrap_or_default();
    let mut whole = String::from("CASE");
    for when in conditions {
        whole += &format!(" WHEN {subject}{} THEN {}", text(&when.condition), text(&when.result));
    }
    if let Some(otherwise) = otherwise {
        whole += &format!(" ELSE {}", text(otherwise));
    }
    whole + " END"
}

fn call(function: &Function) -> String {
    let name = function.name.to_string();
    let FunctionArguments::List(list) = &function.args else { return function.to_string() };
    if name == NEXT_VALUE || name == CURRENT_VALUE {
        return sequence(&name, &list.args);
    }
    if function.over.is_some() || function.filter.is_some() || !list.clauses.is_empty() {
        return function.to_string();
    }
    let arguments: Vec<_> = list.args.iter().map(argument).collect();
    let arguments = arguments.join(", ");
    match list.duplicate_treatment {
        Some(DuplicateTreatment::Distinct) => format!("DISTINCT_{name}({arguments})"),
        _ => format!("{name}({arguments})"),
    }
}

fn argument(argument: &FunctionArg) -> String {
    match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Wildcard) => "1".to_owned(),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => text(expr),
        other => other.to_string(),
    }
}

/// The call that stands for a sequence has (schema, name, count) as its arguments.
fn sequence(function: &str, arguments: &[FunctionArg]) -> String {
    let literals = arguments.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value))) => Some(match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.as_str(),
            _ => "",
        }),
        _ => None,
    });
    let literals: Vec<_> = literals.collect();
    let [schema, name, count] = literals[..] else { return function.to_owned() };
    let dot = if schema.is_empty() { "" } else { "." };
    if function == NEXT_VALUE {
        format!("NEXT[{count}] VALUE(S) FOR {schema}{dot}{name}")
    } else {
        format!("CURRENT VALUE FOR {schema}{dot}{name}")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::datatypes::{DataType, Field};

    use super::*;
    use crate::dialect::{self, Statement};

    fn titles(sql: &str) -> Titles {
        let parsed = dialect::parse(sql).unwrap_or_else(|error| panic!("{sql}: {}", error.message()));
        let Statement::Query(query) = parsed.statement else { panic!("{sql} is no query") };
        Titles::of(&query)
    }

    fn listed(sql: &str) -> Vec<String> {
        let names = titles(sql).items.into_iter().map(|item| match item {
            Item::Title(title) => title,
            Item::Wildcard => "*".to_owned(),
        });
        names.collect()
    }

    /// Each of these is what real Phoenix 5.2 answers.
    #[test]
    fn titles_are_those_of_phoenix() {
        for (expression, title) in [
            ("count(*)", "COUNT(1)"),
            ("count(distinct reg)", "DISTINCT_COUNT(REG)"),
            ("a.x + b.x", "(A.X + B.X)"),
            ("cast(m * 1000 as decimal(4, 2))", "(M * 1000)"),
            ("('c' || s)", "('c' || S)"),
            ("coalesce(i, 2)", "COALESCE(I, 2)"),
            ("'a'", "'a'"),
            ("max(amt) - min(amt)", "(MAX(AMT) - MIN(AMT))"),
            ("n between -99.5 and 10", "(N >= -99.5 AND N <= 10)"),
            ("i <> -3", "I != -3"),
            ("not (s like '%b')", "NOT (S LIKE '%b')"),
            ("i is null", "I IS NULL"),
            ("t and i > 0", "(T AND I > 0)"),
            (
                "case when i >= 10 then 'big' else 'small' end",
                "CASE WHEN I >= 10 THEN 'big' ELSE 'small' END",
            ),
            ("case n when 7 then 'seven' end", "CASE WHEN N = 7 THEN 'seven' END"),
            ("\"n\" + 1", "(\"n\" + 1)"),
            ("substr(s, 2, 1)", "SUBSTR(S, 2, 1)"),
            ("next value for v_s1", "NEXT[1] VALUE(S) FOR V_S1"),
            ("next 4 values for s.v", "NEXT[4] VALUE(S) FOR S.V"),
            ("current value for v_s8 + 1", "(CURRENT VALUE FOR V_S8 + 1)"),
            ("x as \"lower Case\"", "lower Case"),
        ] {
            assert_eq!(listed(&format!("select {expression} from t")), [title]);
        }
    }

    #[test]
    fn a_qualifier_shows_where_tables_are_joined() {
        assert_eq!(listed("select a.x, b.x, y from t"), ["X", "X", "Y"]);
        assert_eq!(listed("select o.id, c.nm from o join c on o.cid = c.id"), ["O.ID", "C.NM"]);
        assert_eq!(listed("select o.id from o, c union select 1"), ["O.ID"]);
    }

    #[test]
    fn a_wildcard_takes_what_the_others_leave() {
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let planned =
            Arc::new(Schema::new(vec![field("Int64(1)"), field("A"), field("B"), field("count(*)")]));
        let names = |sql: &str| {
            let shown = titles(sql).put_on(&planned);
            shown.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        assert_eq!(names("select 1, t.*, count(*) from t"), ["1", "A", "B", "COUNT(1)"]);
        assert_eq!(names("select 1, t.*, u.* from t, u"), ["Int64(1)", "A", "B", "count(*)"]);
        assert_eq!(names("select * from t"), ["Int64(1)", "A", "B", "count(*)"]);
    }
}
