// SPDX-License-Identifier: Apache-2.0
//! What EXPLAIN says of a scan.

use std::fmt;

use basalt_model::KeyRange;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};

use super::super::narrowed;
use super::{BasaltScan, Spec};
use crate::keys::Access;

impl DisplayAs for BasaltScan {
    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let spec = &self.spec;
        let bounds = &spec.access.bounds;
        let access = match &spec.access.access {
            Access::Nothing => "nothing, the conditions contradict each other".to_owned(),
            Access::Points(keys) => format!("point lookup on {} {bounds}", count(keys.len(), "key")),
            Access::Ranges(ranges) => format!("range scan on {} {bounds}", count(ranges.len(), "range")),
            Access::Full => "full scan".to_owned(),
        };
        let columns: Vec<_> = spec.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let columns = columns.join(", ");
        if t == DisplayFormatType::TreeRender {
            return write!(f, "table={}\naccess={access}\ncolumns={columns}", spec.descriptor.name);
        }
        write!(f, "BasaltScan: table={}, access={access}, columns=[{columns}]", spec.descriptor.name)?;
        if let Some(moment) = spec.as_of_ms {
            write!(f, ", as_of={moment}")?;
        }
        if !matches!(spec.access.access, Access::Nothing | Access::Points(_)) {
            write!(f, ", segments={}", self.segments)?;
        }
        if self.reads_backwards() {
            f.write_str(", backwards")?;
        }
        match &self.reversed {
            Some(Some(_)) => f.write_str(", reversed, NULLs first")?,
            Some(None) => f.write_str(", reversed")?,
            None => {}
        }
        if let Some(filter) = &spec.filter {
            write!(f, ", filter={filter}")?;
        }
        if let Some(satisfied) = &spec.satisfied {
            write!(f, ", holds_for_all={satisfied}")?;
        }
        for hint in &self.hints {
            write!(f, ", hint={hint}")?;
        }
        if let Some(by) = narrowed::shown(spec, &self.hints) {
            write!(f, ", few_by={by}")?;
        }
        if let Some(note) = &spec.note {
            write!(f, ", index={note}")?;
        }
        if spec.skip > 0 {
            write!(f, ", skip={}", spec.skip)?;
        }
        if let Some(limit) = spec.limit {
            write!(f, ", limit={limit}")?;
        }
        write!(f, ", rows=~{}", self.rows_estimate())?;
        match self.blocks_estimate() {
            Some(blocks) => write!(f, ", blocks=~{blocks}"),
            None => Ok(()),
        }
    }
}

impl BasaltScan {
    /// Blocks of store files that it reads if it can skip none; single rows are found by other means.
    pub(crate) fn blocks_estimate(&self) -> Option<u64> {
        let Spec { id, snapshot, access, .. } = self.spec.as_ref();
        match &access.access {
            Access::Nothing | Access::Points(_) => None,
            Access::Ranges(ranges) => snapshot.blocks(*id, ranges).ok(),
            Access::Full => snapshot.blocks(*id, &[KeyRange::all()]).ok(),
        }
    }
}

fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
