// SPDX-License-Identifier: Apache-2.0
//! `a IS [NOT] DISTINCT FROM b`, where b ends as it does behind other comparisons. sqlparser 0.62 takes all that follows for b: in
//! `a IS NOT DISTINCT FROM b AND c` that would be `b AND c`.

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

use super::PhoenixDialect;

/// The comparison, if one follows behind its left side.
pub(super) fn parse(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    let is_negated = if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
        false
    } else if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM]) {
        true
    } else {
        return None;
    };
    let left = Box::new(left.clone());
    let right = parser.parse_subexpr(PhoenixDialect.prec_value(Precedence::Is)).map(Box::new);
    Some(right.map(|right| match is_negated {
        false => Expr::IsDistinctFrom(left, right),
        true => Expr::IsNotDistinctFrom(left, right),
    }))
}
