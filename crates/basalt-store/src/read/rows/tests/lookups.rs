// SPDX-License-Identifier: Apache-2.0
//! Rows that are looked up by their keys.

use super::*;

#[test]
fn a_lookup_reads_no_columns_but_those_that_are_wanted() {
    let (database, table, schema) = columnar(false);
    put_rows(&database, table, &schema, &(0..5000).collect::<Vec<i32>>(), true);
    database.flush(None).expect("memory does not fail");
    put_rows(&database, table, &schema, &[17], false);
    let columns = CellColumns::new(&schema, [schema.find(None, "W").expect("it is there")]);
    let qualifiers = |runs: Vec<CellRun>| -> Vec<Vec<u8>> {
        let cells = runs.iter().flat_map(|run| run.cells.clone().map(|at| run.block.cell(at)));
        cells.map(|cell| cell.qualifier.to_vec()).collect()
    };
    let (empty, v, w) = (&schema.empty_qualifier, &schema.columns[0].qualifier, &schema.columns[1].qualifier);
    let snapshot = database.snapshot();
    let found =
        snapshot.get_row_of(table, &key(4000), &columns, &Arc::default()).expect("memory does not fail");
    assert_eq!(qualifiers(found), [empty.clone(), w.clone()]);
    let found = snapshot
        .get_rows_of(table, &[key(16), key(17)], &columns, &Arc::default())
        .expect("memory does not fail");
    // What a memtable has it gives as it is.
    let found: Vec<_> = found.into_iter().map(qualifiers).collect();
    assert_eq!(found, [vec![empty.clone(), w.clone()], vec![empty.clone(), v.clone(), w.clone()]]);
    assert!(
        snapshot
            .get_row_of(table, &key(5000), &columns, &Arc::default())
            .expect("memory does not fail")
            .is_empty()
    );
}

#[test]
fn rows_that_lie_together_are_decoded_together() {
    let (database, table, schema) = columnar(false);
    // Every third is not there.
    let rows: Vec<i32> = (0..5000).filter(|row| row % 3 != 1).collect();
    put_rows(&database, table, &schema, &rows, true);
    database.flush(None).expect("memory does not fail");
    put_rows(&database, table, &schema, &[17], false);
    let columns = CellColumns::new(&schema, schema.declared_order().iter().copied());
    let snapshot = database.snapshot();
    let cells = |runs: &[CellRun]| -> Vec<(Vec<u8>, Vec<u8>)> {
        let cells = runs.iter().flat_map(|run| run.cells.clone().map(|at| run.block.cell(at)));
        cells.map(|cell| (cell.qualifier.to_vec(), cell.value.to_vec())).collect()
    };
    // Each vector is decoded once, whichever of the rows are not there.
    let asked = [(0..60, 1), (500..3000, 2), (4990..5010, 1), (6000..6010, 0)];
    let together = asked.map(|(asked, decoded)| {
        let keys: Vec<_> = asked.clone().map(key).collect();
        let counters = Arc::default();
        let found = snapshot.get_rows_of(table, &keys, &columns, &counters).expect("memory does not fail");
        assert_eq!(counters.blocks_read.load(Relaxed), decoded, "{asked:?}");
        (asked, found)
    });
    for (asked, found) in together {
        for (row, found) in asked.zip(&found) {
            let alone = snapshot.get_row_of(table, &key(row), &columns, &Arc::default());
            let alone = alone.expect("memory does not fail");
            assert_eq!(cells(found), cells(&alone), "row {row}");
            assert_eq!(found.is_empty(), row >= 5000 || row % 3 == 1);
        }
    }
}
