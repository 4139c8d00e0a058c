// SPDX-License-Identifier: Apache-2.0
use clap::CommandFactory;

use super::*;

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn sizes_are_read_as_people_write_them() {
    for (text, bytes) in
        [("17", 17), ("4k", 4096), ("512MB", 512 << 20), ("1.5GiB", 3 << 29), ("2 G", 2 << 30)]
    {
        assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
    }
    for text in ["", "GB", "4x", "-1", "0"] {
        assert!(text.parse::<ByteSize>().is_err(), "{text}");
    }
}

#[test]
fn on_error_takes_three_forms() {
    assert_eq!("reject=bad.csv".parse(), Ok(OnError::Reject("bad.csv".into())));
    assert!("reject=".parse::<OnError>().is_err());
    assert!("ignore".parse::<OnError>().is_err());
}

#[test]
fn options_may_stand_before_and_after_the_command() {
    let parsed = CommandLine::try_parse_from([
        "basalt",
        "--quiet",
        "sql",
        "db",
        "-c",
        "a",
        "-c",
        "b",
        "--threads",
        "3",
    ])
    .expect("fits");
    assert!(parsed.shared.quiet);
    assert_eq!(parsed.shared.threads(), 3);
    let Some(Command::Sql(sql)) = parsed.command else { panic!("not sql") };
    assert_eq!(sql.commands, ["a", "b"]);
}
