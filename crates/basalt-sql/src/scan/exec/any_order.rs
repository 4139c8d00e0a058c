// SPDX-License-Identifier: Apache-2.0
//! Scans of one partition of whose order nobody makes use.

use std::sync::Arc;

use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::Partitioning;

use super::{BasaltScan, Spec, plan_properties};

impl BasaltScan {
    /// The same scan of one partition, whose rows come in any order; `None` where that gains nothing, or a limit wants the first rows.
    pub(in crate::scan) fn in_any_order(&self) -> Option<Self> {
        let Spec { limit: None, skip: 0, rows_exact: None, .. } = &*self.spec else { return None };
        if self.partitions.len() != 1 || self.is_in_any_order() || self.is_backwards || self.is_reversed() {
            return None;
        }
        let equivalences = EquivalenceProperties::new(Arc::clone(&self.spec.schema));
        let properties = plan_properties(equivalences, Partitioning::UnknownPartitioning(1));
        let scan = self.with_hints(self.hints.clone());
        Some(Self { in_any_order: true, properties: Arc::new(properties), ..scan })
    }

    /// True if its rows come in any order.
    pub(in crate::scan) fn is_in_any_order(&self) -> bool {
        self.in_any_order
    }
}
