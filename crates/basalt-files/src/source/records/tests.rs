// SPDX-License-Identifier: Apache-2.0
use super::*;

const CSV: Dialect = Dialect::Csv { delimiter: b',' };

/// Gives its bytes a few at a time, as a pipe may.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let taken = self.1.min(self.0.len()).min(buffer.len());
        buffer[..taken].copy_from_slice(&self.0[..taken]);
        self.0 = &self.0[taken..];
        Ok(taken)
    }
}

/// Each record as `line: field|field`, NULL as `-`, a defect behind ` !`.
fn records(dialect: Dialect, text: &str) -> Vec<String> {
    let read = |step| {
        let mut records = Records::new(Trickle(text.as_bytes(), step), dialect);
        let mut shown = Vec::new();
        while let Some(record) = records.next_record().expect("memory") {
            let fields = (0..record.len())
                .map(|i| record.field(i).expect("UTF-8").map_or("-".into(), Cow::into_owned));
            let fields: Vec<String> = fields.collect();
            let defect = record.defect.map_or(String::new(), |defect| format!(" !{defect}"));
            shown.push(format!("{}: {}{defect}", record.line, fields.join("|")));
        }
        shown
    };
    let whole = read(usize::MAX);
    for step in 1..8 {
        assert_eq!(read(step), whole, "read {step} bytes at a time");
    }
    whole
}

#[test]
fn plain_records_with_any_line_end() {
    assert_eq!(records(CSV, "a,b\r\n1,2\n3,4"), ["1: a|b", "2: 1|2", "3: 3|4"]);
}

#[test]
fn nothing_is_null_and_quoted_nothing_is_text() {
    assert_eq!(records(CSV, ",\"\",\n"), ["1: -||-"]);
}

#[test]
fn quotes_keep_delimiters_lines_and_quotes() {
    assert_eq!(records(CSV, "\"a,\n\"\"b\"\"\",c\nd,e\n"), ["1: a,\n\"b\"|c", "3: d|e"]);
}

#[test]
fn bad_quotes_are_named() {
    assert_eq!(records(CSV, "\"a\"b,c\n1,2\n"), ["1: a|c !text follows a closing quote", "2: 1|2"]);
    assert_eq!(records(CSV, "1,\"two\n3,4\n"), ["1: 1|two\n3,4\n !a quote is never closed"]);
}

#[test]
fn empty_lines_and_a_byte_order_mark_are_passed_over() {
    assert_eq!(records(CSV, "\u{feff}a\n\n\r\nb\n\n"), ["1: a", "4: b"]);
}

#[test]
fn tsv_escapes() {
    assert_eq!(records(Dialect::Tsv, "a\\tb\t\\N\t\"q\n\\\\n\t\tx\n"), ["1: a\tb|-|\"q", "2: \\n|-|x"]);
}

#[test]
fn tbl_fields_end_in_a_bar() {
    assert_eq!(records(Dialect::Tbl, "1|a||\n2|\"b||\n"), ["1: 1|a|-", "2: 2|\"b|-"]);
    assert_eq!(records(Dialect::Tbl, "1|a\n"), ["1: 1|a"]);
}

#[test]
fn a_record_without_end_is_refused() {
    let endless = std::io::repeat(b'x');
    let mut records = Records::new(endless, CSV);
    assert!(matches!(records.next_record(), Err(RecordError::TooLong { line: 1 })));
}
