// SPDX-License-Identifier: Apache-2.0
use crate::fixtures;
use crate::tools::dump;

#[test]
fn every_file_of_hbase_dumps_to_what_its_own_reader_says() {
    for fixture in fixtures::all() {
        let mut out = vec![];
        dump(&fixture.open(), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for (number, (ours, theirs)) in out.lines().zip(fixture.dump.lines()).enumerate() {
            assert_eq!(ours, theirs, "{} line {}", fixture.name, number + 1);
        }
        assert!(out == fixture.dump, "{}", fixture.name);
    }
}

#[test]
fn every_file_of_hbase_is_found_sound() {
    for fixture in fixtures::all() {
        fixture.open().verify(&mut |finding| panic!("{finding}"));
    }
}
