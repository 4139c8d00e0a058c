// SPDX-License-Identifier: Apache-2.0
//! Reads `tests/queries/main-job.sql`; the form of that file is described at its top.

const TEXT: &str = include_str!("../../../../tests/queries/main-job.sql");

/// A question of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) title: String,
    pub(super) run: Run,
    pub(super) sql: String,
}

/// Who asks a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Run {
    /// The demo, to the last row.
    Demo,
    /// The demo, to the first row.
    FirstRow,
    /// Tests only.
    Reference,
}

/// All questions, with what depends on the scale factor filled in.
pub(super) fn questions(scale: f64) -> Vec<Question> {
    let offset = (5_000_000.0 * scale) as u64;
    // Order keys are multiples of 32 plus 0 to 7, so a multiple of 32 is an order.
    let key = (3_000_000.0 * scale) as u64 / 32 * 32;
    parse(TEXT)
        .into_iter()
        .map(|question| Question {
            title: question
                .title
                .replace("{offset}", &crate::output::grouped(offset))
                .replace("{key}", &key.to_string()),
            sql: question.sql.replace("{offset}", &offset.to_string()).replace("{key}", &key.to_string()),
            ..question
        })
        .collect()
}

fn parse(text: &str) -> Vec<Question> {
    let mut questions: Vec<Question> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("-- ").and_then(|head| head.split_once(": ")) {
            Some(("name", name)) => questions.push(Question {
                name: name.into(),
                title: name.into(),
                run: Run::Reference,
                sql: String::new(),
            }),
            Some((key, value)) => {
                // Remarks before the first question have a colon, too.
                let Some(question) = questions.last_mut().filter(|question| question.sql.is_empty()) else {
                    continue;
                };
                match (key, value) {
                    ("title", title) => question.title = title.into(),
                    ("run", "demo") => question.run = Run::Demo,
                    ("run", "first-row") => question.run = Run::FirstRow,
                    _ => {}
                }
            }
            None if line.starts_with("--") => {}
            None => {
                if let Some(question) = questions.last_mut() {
                    question.sql.push_str(line);
                    question.sql.push('\n');
                }
            }
        }
    }
    for question in &mut questions {
        question.sql.truncate(question.sql.trim_end().trim_end_matches(';').len());
    }
    questions
}

#[cfg(test)]
mod tests;
