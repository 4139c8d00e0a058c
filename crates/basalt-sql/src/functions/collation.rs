// SPDX-License-Identifier: Apache-2.0
//! COLLATION_KEY(s, locale[, upper[, strength[, decomposition]]]): bytes that are ordered as a language orders its texts.
//!
//! Keys are those of the Unicode collation algorithm with CLDR's rules for the locale, as `icu_collator` makes them: letters, then
//! accents, then cases, each level behind a 01.
//!
//! ```text
//! COLLATION_KEY('a', 'de')   2b 01 05
//! COLLATION_KEY('ä', 'de')   2b 01 45 96
//! COLLATION_KEY('z', 'de')   5d 01 05
//! ```
//!
//! Keys can be compared if they have one locale and strength. Tables and indexes keep what statements made of them, so a version
//! of the crate that makes other keys is a change of format.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, BinaryBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, exec_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF};
use icu_collator::options::{CollatorOptions, Strength};
use icu_collator::{CollatorBorrowed, CollatorPreferences};
use icu_locale_core::Locale;

use super::cases::to_upper;
use super::plain::{Plain, constant_text, count, texts};

pub(super) fn function() -> ScalarUDF {
    Plain::function("collation_key", coerce, |_| DataType::Binary, run)
}

fn coerce(name: &str, found: &[DataType]) -> Result<Vec<DataType>> {
    count(name, found, 2, 5)?;
    let mut types = texts(name, &found[..2], 2, 2)?;
    for (found, wanted) in found[2..].iter().zip([DataType::Boolean, DataType::Int64, DataType::Int64]) {
        let fits = found.is_null() || *found == wanted || found.is_integer() && wanted.is_integer();
        if !fits {
            return plan_err!(
                "{} takes texts, TRUE or FALSE, and whole numbers, not {found}",
                name.to_uppercase()
            );
        }
        types.push(wanted);
    }
    Ok(types)
}

fn run(args: &ScalarFunctionArgs) -> Result<ColumnarValue> {
    let Some(locale) = constant_text(args, 1, "a locale")?.filter(|locale| !locale.is_empty()) else {
        return exec_err!("COLLATION_KEY needs a locale, such as 'de' or 'pt_BR'");
    };
    let upper = constant(args, 2)? == Some(ScalarValue::Boolean(Some(true)));
    let collator = collator(&locale, strength(args)?)?;
    check_decomposition(args)?;
    let is_scalar = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let values = args.args[0].to_array(args.number_rows)?;
    let values = values.as_string::<i32>();
    let (mut keys, mut key) = (BinaryBuilder::new(), vec![]);
    for value in values {
        let Some(value) = value else {
            keys.append_null();
            continue;
        };
        key.clear();
        let Ok(()) = match upper {
            true => collator.write_sort_key_to(&to_upper(value, Some(&locale)), &mut key),
            false => collator.write_sort_key_to(value, &mut key),
        };
        keys.append_value(&key);
    }
    let keys = keys.finish();
    if is_scalar && !keys.is_empty() {
        return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&keys, 0)?));
    }
    Ok(ColumnarValue::Array(Arc::new(keys)))
}

fn collator(locale: &str, strength: Strength) -> Result<CollatorBorrowed<'static>> {
    let mut options = CollatorOptions::default();
    options.strength = Some(strength);
    match CollatorBorrowed::try_new(preferences(locale), options) {
        Ok(collator) => Ok(collator),
        Err(error) => exec_err!("there is no order of texts for the locale {locale}: {error}"),
    }
}

/// The locale by Java's or Unicode's name; of one that is not known as much as is, else the root, which orders all scripts.
fn preferences(locale: &str) -> CollatorPreferences {
    let tag = locale.replace('_', "-");
    let mut known = Some(tag.as_str());
    while let Some(tag) = known {
        if let Ok(locale) = Locale::try_from_str(tag) {
            return (&locale).into();
        }
        known = tag.rsplit_once('-').map(|(shorter, _)| shorter);
    }
    CollatorPreferences::default()
}

/// Java's numbers of strengths; Phoenix takes the second.
fn strength(args: &ScalarFunctionArgs) -> Result<Strength> {
    Ok(match number(args, 3)? {
        Some(0) => Strength::Primary,
        None | Some(1) => Strength::Secondary,
        Some(2) => Strength::Tertiary,
        Some(3) => Strength::Identical,
        Some(other) => {
            return exec_err!(
                "the strength of COLLATION_KEY is 0 (letters), 1 (and accents), 2 (and cases) or 3 (all differences), not {other}"
            );
        }
    })
}

/// Keys are always those of decomposed texts, so it has no effect.
fn check_decomposition(args: &ScalarFunctionArgs) -> Result<()> {
    match number(args, 4)? {
        None | Some(0..=2) => Ok(()),
        Some(other) => {
            exec_err!(
                "the decomposition of COLLATION_KEY is 0 (none), 1 (canonical) or 2 (full), not {other}"
            )
        }
    }
}

fn number(args: &ScalarFunctionArgs, index: usize) -> Result<Option<i64>> {
    Ok(match constant(args, index)? {
        Some(ScalarValue::Int64(number)) => number,
        _ => None,
    })
}

/// Argument `index`, which is the same for all rows.
fn constant(args: &ScalarFunctionArgs, index: usize) -> Result<Option<ScalarValue>> {
    match args.args.get(index) {
        None => Ok(None),
        Some(ColumnarValue::Scalar(value)) => Ok(Some(value.clone())),
        Some(ColumnarValue::Array(_)) => {
            exec_err!("argument {} of COLLATION_KEY must be a literal, not a column", index + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted<'a>(locale: &str, strength: Strength, mut texts: Vec<&'a str>) -> Vec<&'a str> {
        texts.sort_by_key(|text| key(locale, strength, text));
        texts
    }

    fn key(locale: &str, strength: Strength, text: &str) -> Vec<u8> {
        let mut key = vec![];
        let Ok(()) =
            collator(locale, strength).expect("every locale has an order").write_sort_key_to(text, &mut key);
        key
    }

    #[test]
    fn each_language_has_its_order() {
        let german = ["Apfel", "Äpfel", "Zebra", "zeta"];
        assert_eq!(sorted("de", Strength::Tertiary, vec!["zeta", "Zebra", "Äpfel", "Apfel"]), german);
        let swedish = ["apa", "zebra", "ånga", "ära", "öra"];
        assert_eq!(sorted("sv_SE", Strength::Tertiary, vec!["öra", "ära", "ånga", "zebra", "apa"]), swedish);
        let spanish = ["mano", "nube", "ñame", "oso"];
        assert_eq!(sorted("es", Strength::Tertiary, vec!["oso", "ñame", "nube", "mano"]), spanish);
        assert_eq!(sorted("de-u-co-phonebk", Strength::Primary, vec!["Af", "Ä"]), ["Ä", "Af"], "Ä is Ae");
    }

    #[test]
    fn a_locale_that_is_not_known_has_the_order_of_what_is_known_of_it() {
        let [of_root, of_swedish] = ["", "sv"].map(|locale| key(locale, Strength::Secondary, "ö"));
        assert_ne!(of_root, of_swedish);
        assert_eq!(key("nosuchlocale", Strength::Secondary, "ö"), of_root);
        assert_eq!(key("xx_YY", Strength::Secondary, "ö"), of_root);
        assert_eq!(key("sv_SE_WIN", Strength::Secondary, "ö"), of_swedish);
    }

    /// Keys that may be stored: other ones are a change of format.
    #[test]
    fn keys_stay_as_they_are() {
        assert_eq!(key("de", Strength::Secondary, "a"), [0x2b, 0x01, 0x05]);
        assert_eq!(key("de", Strength::Secondary, "ä"), [0x2b, 0x01, 0x45, 0x96]);
        assert_eq!(
            key("de", Strength::Tertiary, "Zebra 7"),
            [0x5d, 0x33, 0x2d, 0x4d, 0x2b, 4, 0x20, 1, 0x0b, 1, 0xdc, 0x0a]
        );
        assert_eq!(key("sv", Strength::Secondary, "ö"), [0x5e, 0x7f, 4, 1, 5]);
        assert_eq!(key("zh", Strength::Primary, "中文"), [0x9c, 0x4c, 0x8a, 0x67]);
    }
}
