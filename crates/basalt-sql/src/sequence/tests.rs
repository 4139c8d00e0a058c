// SPDX-License-Identifier: Apache-2.0
use super::record::Block;
use super::*;
use crate::dialect::{Statement, parse};

fn record(options: &str) -> Result<Record, SqlError> {
    match parse(&format!("create sequence s {options}")).expect("valid").statement {
        Statement::CreateSequence(statement) => define(&statement),
        other => panic!("{other:?}"),
    }
}

/// The next values when they are taken one by one from blocks of CACHE values.
fn values(options: &str, count: usize) -> Vec<i64> {
    let mut record = record(options).expect("valid");
    let mut block = Block { first: 0, count: 0, increment: 1 };
    let mut values = vec![];
    while values.len() < count {
        if block.count == 0 {
            let cache = record.cache as u64;
            match record.take(cache) {
                Ok(next) => block = next,
                Err(_) => break,
            }
        }
        values.push(block.split(1).first);
    }
    values
}

#[test]
fn values_follow_phoenix() {
    assert_eq!(values("", 3), [1, 2, 3]);
    assert_eq!(values("start 5 increment 2 minvalue 1 maxvalue 9 cycle cache 2", 5), [5, 7, 9, 1, 3]);
    assert_eq!(values("start 1 maxvalue 2", 5), [1, 2]);
    assert_eq!(values("increment by -1", 3), [1, 0, -1]);
    assert_eq!(values("minvalue 10", 2), [10, 11]);
    assert_eq!(values("start with 5 increment by -2 minvalue 1 maxvalue 5", 9), [5, 3, 1]);
    assert_eq!(values("start with 3 increment by 2 minvalue 2 maxvalue 8 cycle cache 2", 4), [3, 5, 7, 2]);
    assert_eq!(values("start with 9223372036854775806", 5), [i64::MAX - 1, i64::MAX]);
}

#[test]
fn the_first_block_is_the_cache() {
    let mut record = record("").expect("valid");
    record.take(record.cache as u64).expect("unlimited");
    assert_eq!(record.current, 101);
}

#[test]
fn limits_are_checked_when_created() {
    let code = |options| record(options).expect_err(options).code().map(|code| code.number);
    assert_eq!(code("increment by 0"), Some(1214));
    assert_eq!(code("minvalue 5 maxvalue 1"), Some(1210));
    assert_eq!(code("start with 10 maxvalue 5"), Some(1211));
    assert_eq!(record("cache 0").expect("0 means 1").cache, 1);
}

#[test]
fn exhausted_sequences_say_which_end() {
    let mut up = record("maxvalue 1 minvalue 1").expect("valid");
    up.take(1).expect("one value");
    assert_eq!(up.take(1).expect_err("at the end").code().map(|code| code.number), Some(1212));
    let mut down = record("increment by -1 start 1 minvalue 1").expect("valid");
    down.take(1).expect("one value");
    assert_eq!(down.take(1).expect_err("at the end").code().map(|code| code.number), Some(1213));
}

#[test]
fn a_rest_is_given_back_unless_somebody_took_more() {
    let mut record = record("").expect("valid");
    let mut block = record.take(100).expect("unlimited");
    block.split(3);
    assert!(record.clone().give_back(&block));
    record.take(100).expect("unlimited");
    assert!(!record.give_back(&block));
}

#[test]
fn bulk_values_are_consecutive_or_refused() {
    let mut sequence = record("start 10 increment 10 maxvalue 50").expect("valid");
    assert_eq!(sequence.take_all(3).expect("10, 20, 30").first, 10);
    assert_eq!(
        sequence.clone().take_all(3).expect_err("only two left").code().map(|code| code.number),
        Some(1212)
    );
    let mut cycling = record("minvalue 1 maxvalue 9 cycle").expect("valid");
    assert_eq!(cycling.take_all(2).expect_err("cycles").code().map(|code| code.number), Some(1216));
}
