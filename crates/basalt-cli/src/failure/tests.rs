// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn the_chain_is_one_line_without_repeats() {
    let error = anyhow!("disk is full").context("cannot write a/b: disk is full").context("load stopped");
    assert_eq!(Failure::input(error).message(), "load stopped: cannot write a/b: disk is full");
}

#[test]
fn the_caret_stands_under_the_byte() {
    assert_eq!(point_at("select 1,\nselct 2", 10), "line 2: selct 2\n        ^");
    assert_eq!(point_at("select größe frm t", 15), "line 1: select größe frm t\n                     ^");
}

#[test]
fn a_closed_pipe_is_quiet() {
    let failure = Failure::from(io::Error::from(io::ErrorKind::BrokenPipe));
    assert_eq!((failure.code(), failure.has_message()), (0, false));
    let wrapped = anyhow::Error::from(io::Error::from(io::ErrorKind::BrokenPipe)).context("cannot print");
    assert_eq!(Failure::from(wrapped).code(), 0);
}

#[test]
fn what_was_attempted_stands_before_the_cause() {
    let missing = anyhow::Error::from(io::Error::other("no such file")).context("cannot open a.csv");
    assert_eq!(Failure::from(missing).message(), "cannot open a.csv: no such file");
}
