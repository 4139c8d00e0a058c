// SPDX-License-Identifier: Apache-2.0
//! Expressions whose values become of one type before they are compared or one of them is chosen: what of them has to be made alike is found here, how is
//! for who asks ([`super::mixed`] for numbers, [`super::instants`] for dates).

use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{Case, InList, ScalarFunction};
use datafusion::logical_expr::{Between, Expr};

/// Functions whose arguments become of one type.
const OF_ONE_TYPE: [&str; 5] = ["coalesce", "nvl", "greatest", "least", "nullif"];

/// Why values become of one type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Together {
    /// One of them is the answer, or the first is compared with each other one by CASE.
    Chosen,
    /// BETWEEN and IN compare the first of them with all others.
    Compared,
}

/// Hands the values of an expression that become of one type to `make_alike`, which says whether it has changed any.
pub(super) fn with_alike(
    expr: Expr,
    mut make_alike: impl FnMut(Together, &mut [&mut Expr]) -> bool,
) -> Transformed<Expr> {
    use Together::{Chosen, Compared};
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, mut args }) if OF_ONE_TYPE.contains(&func.name()) => {
            let changed = make_alike(Chosen, &mut args.iter_mut().collect::<Vec<_>>());
            Transformed::new_transformed(Expr::ScalarFunction(ScalarFunction { func, args }), changed)
        }
        Expr::Case(Case { mut expr, mut when_then_expr, mut else_expr }) => {
            let thens = when_then_expr.iter_mut().map(|(_, then)| then.as_mut());
            let mut values: Vec<&mut Expr> = thens.chain(else_expr.as_deref_mut()).collect();
            let mut changed = make_alike(Chosen, &mut values);
            if let Some(expr) = expr.as_deref_mut() {
                let whens = when_then_expr.iter_mut().map(|(when, _)| when.as_mut());
                changed |= make_alike(Chosen, &mut std::iter::once(expr).chain(whens).collect::<Vec<_>>());
            }
            Transformed::new_transformed(Expr::Case(Case { expr, when_then_expr, else_expr }), changed)
        }
        Expr::Between(Between { mut expr, negated, mut low, mut high }) => {
            let changed = make_alike(Compared, &mut [expr.as_mut(), low.as_mut(), high.as_mut()]);
            Transformed::new_transformed(Expr::Between(Between { expr, negated, low, high }), changed)
        }
        Expr::InList(InList { mut expr, mut list, negated }) => {
            let mut values: Vec<&mut Expr> = std::iter::once(expr.as_mut()).chain(&mut list).collect();
            let changed = make_alike(Compared, &mut values);
            Transformed::new_transformed(Expr::InList(InList { expr, list, negated }), changed)
        }
        other => Transformed::no(other),
    }
}
