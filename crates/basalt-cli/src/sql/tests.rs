// SPDX-License-Identifier: Apache-2.0
use anyhow::anyhow;

use super::*;

/// Writes down what it is asked to run; a statement `fail` fails, a command `.quit` quits.
#[derive(Default)]
struct Recorder(Vec<String>);

impl Runner for Recorder {
    fn statement(&mut self, text: &str, whole: &str, offset: usize) -> Result<()> {
        assert!(whole[offset..].starts_with(text), "{text:?} stands at its offset");
        self.0.push(text.to_string());
        if text == "fail" { Err(Failure::input(anyhow!("it fails"))) } else { Ok(()) }
    }

    fn command(&mut self, line: &str) -> Option<Result<Next>> {
        let name = line.strip_prefix('.')?;
        self.0.push(format!("<{name}>"));
        Some(Ok(if line == ".quit" { Next::Quit } else { Next::GoOn }))
    }
}

fn ran(text: &str) -> (String, Option<String>) {
    let mut recorder = Recorder::default();
    let failure = run_input(&mut recorder, &mut text.as_bytes(), "f.sql").err();
    (recorder.0.join(" / "), failure.map(|failure| failure.message()))
}

#[test]
fn statements_run_once_each_whatever_the_lines() {
    assert_eq!(ran("a; b;\nc\n;\nd").0, "a / b / c / d");
    assert_eq!(ran("a /* ; */ ; b -- ;\n; 'x;\ny'; -- end").0, "a /* ; */ / b -- ; / 'x;\ny'");
    assert_eq!(ran("a; /* b;\nc; */ d;").0, "a / d");
    assert_eq!(ran(";;\n").0, "");
}

#[test]
fn the_first_error_stops_and_names_its_line() {
    assert_eq!(
        ran("a;\n\n-- remark\n\n  fail;\nb;"),
        ("a / fail".into(), Some("f.sql, statement at line 5: it fails".into()))
    );
}

#[test]
fn commands_stand_between_statements_only() {
    assert_eq!(ran(".one\na\n.two;\n.three\n.quit\nb;").0, "<one> / a\n.two / <three> / <quit>");
}
