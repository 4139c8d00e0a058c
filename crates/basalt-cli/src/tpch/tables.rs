// SPDX-License-Identifier: Apache-2.0
//! The eight tables: names, keys, sizes, and the generator of each.

use std::fmt::{Display, Write};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatchReader;
use clap::ValueEnum;
use tpchgen::csv::{
    CustomerCsv, LineItemCsv, NationCsv, OrderCsv, PartCsv, PartSuppCsv, RegionCsv, SupplierCsv,
};
use tpchgen::generators::{
    CustomerGenerator, LineItemGenerator, NationGenerator, OrderGenerator, PartGenerator, PartSuppGenerator,
    RegionGenerator, SupplierGenerator,
};
use tpchgen_arrow::{
    CustomerArrow, LineItemArrow, NationArrow, OrderArrow, PartArrow, PartSuppArrow, RegionArrow,
    SupplierArrow,
};

use crate::args::TpchFormat;

/// A table of TPC-H.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Table {
    Region,
    Nation,
    Supplier,
    Customer,
    Part,
    Partsupp,
    Orders,
    Lineitem,
}

/// Calls a generic function with the generator, the Arrow form and the CSV form of a table.
macro_rules! with_generator {
    ($table:expr, $scale:expr, $generator:ident, $arrow:ident, $csv:ident => $body:expr) => {
        match $table {
            Table::Region => with_generator!(@ RegionGenerator, RegionArrow, RegionCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Nation => with_generator!(@ NationGenerator, NationArrow, NationCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Supplier => with_generator!(@ SupplierGenerator, SupplierArrow, SupplierCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Customer => with_generator!(@ CustomerGenerator, CustomerArrow, CustomerCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Part => with_generator!(@ PartGenerator, PartArrow, PartCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Partsupp => with_generator!(@ PartSuppGenerator, PartSuppArrow, PartSuppCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Orders => with_generator!(@ OrderGenerator, OrderArrow, OrderCsv, $scale, $generator, $arrow, $csv, $body),
            Table::Lineitem => with_generator!(@ LineItemGenerator, LineItemArrow, LineItemCsv, $scale, $generator, $arrow, $csv, $body),
        }
    };
    (@ $make:ident, $make_arrow:ident, $make_csv:ident, $scale:expr, $generator:ident, $arrow:ident, $csv:ident, $body:expr) => {{
        #[allow(unused_imports)]
        use {$make_arrow as $arrow, $make_csv as $csv};
        let $generator = $make::new($scale, 1, 1);
        $body
    }};
}

impl Table {
    /// Lower case, as in the benchmark's text.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Region => "region",
            Self::Nation => "nation",
            Self::Supplier => "supplier",
            Self::Customer => "customer",
            Self::Part => "part",
            Self::Partsupp => "partsupp",
            Self::Orders => "orders",
            Self::Lineitem => "lineitem",
        }
    }

    /// The table whose file has this stem, e.g. `lineitem` or `lineitem.1`.
    pub(crate) fn by_file_stem(stem: &str) -> Option<Self> {
        let name = stem.split('.').next().unwrap_or(stem).to_ascii_lowercase();
        Self::value_variants().iter().copied().find(|table| table.name() == name)
    }

    /// Rows at this scale factor; exact for all but LINEITEM.
    pub(crate) fn rows_estimate(self, scale: f64) -> u64 {
        let scaled = |rows: f64| ((rows * scale) as u64).max(1);
        match self {
            Self::Region => 5,
            Self::Nation => 25,
            Self::Supplier => scaled(10_000.0),
            Self::Customer => scaled(150_000.0),
            Self::Part => scaled(200_000.0),
            Self::Partsupp => scaled(800_000.0),
            Self::Orders => scaled(1_500_000.0),
            Self::Lineitem => scaled(6_001_215.0),
        }
    }

    /// Names of the columns, separated by commas.
    pub(crate) fn csv_header(self) -> &'static str {
        match self {
            Self::Region => RegionCsv::header(),
            Self::Nation => NationCsv::header(),
            Self::Supplier => SupplierCsv::header(),
            Self::Customer => CustomerCsv::header(),
            Self::Part => PartCsv::header(),
            Self::Partsupp => PartSuppCsv::header(),
            Self::Orders => OrderCsv::header(),
            Self::Lineitem => LineItemCsv::header(),
        }
    }

    /// Names and Arrow types of the columns.
    pub(crate) fn arrow_schema(self) -> SchemaRef {
        match self {
            Self::Region => RegionArrow::schema_ref(),
            Self::Nation => NationArrow::schema_ref(),
            Self::Supplier => SupplierArrow::schema_ref(),
            Self::Customer => CustomerArrow::schema_ref(),
            Self::Part => PartArrow::schema_ref(),
            Self::Partsupp => PartSuppArrow::schema_ref(),
            Self::Orders => OrderArrow::schema_ref(),
            Self::Lineitem => LineItemArrow::schema_ref(),
        }
    }

    /// All rows in key order, batch by batch.
    pub(super) fn batches(self, scale: f64, batch_rows: usize) -> Box<dyn RecordBatchReader + Send> {
        with_generator!(self, scale, generator, Arrow, Csv => Box::new(Arrow::new(generator).with_batch_size(batch_rows)))
    }

    /// All rows as lines, `batch_rows` at a time, until `take` answers false.
    pub(super) fn lines(
        self,
        scale: f64,
        format: TpchFormat,
        batch_rows: usize,
        take: &mut dyn FnMut(String, usize) -> bool,
    ) {
        with_generator!(self, scale, generator, Arrow, Csv => match format {
            TpchFormat::Csv => in_batches(generator.iter().map(Csv::new), batch_rows, take),
            _ => in_batches(generator.iter(), batch_rows, take),
        })
    }
}

fn in_batches<T: Display>(
    mut items: impl Iterator<Item = T>,
    batch_rows: usize,
    take: &mut dyn FnMut(String, usize) -> bool,
) {
    loop {
        let mut lines = String::new();
        let mut rows = 0;
        for item in items.by_ref().take(batch_rows) {
            // Writing to a String cannot fail.
            let _ = writeln!(lines, "{item}");
            rows += 1;
        }
        if rows == 0 || !take(lines, rows) {
            return;
        }
    }
}
