// SPDX-License-Identifier: Apache-2.0
//! UPPER(s, locale) and LOWER(s, locale): in Turkish and Azerbaijani `i` and `ı` are two letters, each with an upper case of its own. Other
//! languages have the cases of Unicode.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};

use super::plain::{Plain, constant_text, texts};
use super::text::map_texts;

/// The call that stands for UPPER with a locale.
pub(crate) const UPPER: &str = "$upper";
/// The call that stands for LOWER with a locale.
pub(crate) const LOWER: &str = "$lower";

pub(super) fn functions() -> [ScalarUDF; 2] {
    let coerce = |name: &str, found: &[DataType]| texts(name.trim_start_matches('$'), found, 2, 2);
    [
        Plain::function(UPPER, coerce, |_| DataType::Utf8, |args| run(args, to_upper)),
        Plain::function(LOWER, coerce, |_| DataType::Utf8, |args| run(args, to_lower)),
    ]
}

fn run(args: &ScalarFunctionArgs, change: fn(&str, Option<&str>) -> String) -> Result<ColumnarValue> {
    let locale = constant_text(args, 1, "a locale")?;
    map_texts(args, |text, _| Ok(Some(change(text, locale.as_deref()))))
}

/// In upper case.
pub(super) fn to_upper(text: &str, locale: Option<&str>) -> String {
    if has_dotless_i(locale) { text.replace('i', "İ").to_uppercase() } else { text.to_uppercase() }
}

fn to_lower(text: &str, locale: Option<&str>) -> String {
    if has_dotless_i(locale) {
        return text.replace("I\u{307}", "i").replace('İ', "i").replace('I', "ı").to_lowercase();
    }
    text.to_lowercase()
}

fn has_dotless_i(locale: Option<&str>) -> bool {
    let language = locale.and_then(|locale| locale.split(['_', '-']).next()).unwrap_or_default();
    ["tr", "az"].iter().any(|known| language.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turkish_has_two_letters_i() {
        assert_eq!((to_upper("iı", Some("tr_TR")), to_lower("Iİ", Some("az"))), ("İI".into(), "ıi".into()));
        assert_eq!((to_upper("iıß", Some("en")), to_lower("Iİ", None)), ("IISS".into(), "ii\u{307}".into()));
    }
}
