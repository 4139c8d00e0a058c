// SPDX-License-Identifier: Apache-2.0
//! Comparators and comparison operators from their messages.

use basalt_model::filter::{BitOp, Comparator, CompareOp};
use bytes::Bytes;
use prost::Message;

use crate::exception::Exception;
use crate::pb;

/// The package of HBase's filters and comparators.
const PACKAGE: &str = "org.apache.hadoop.hbase.filter.";

/// A payload of a filter or comparator, decoded.
pub(crate) fn payload<T: Message + Default>(class: &str, bytes: Option<Bytes>) -> Result<T, Exception> {
    T::decode(bytes.unwrap_or_default())
        .map_err(|error| Exception::refused(format!("the message of {class} cannot be read: {error}")))
}

/// The name of a class of HBase's package; of another, the name as it is.
pub(crate) fn simple_name(class: &str) -> &str {
    class.strip_prefix(PACKAGE).unwrap_or(class)
}

/// The operator with this number.
pub(crate) fn compare_op(number: i32) -> Result<CompareOp, Exception> {
    Ok(match pb::CompareType::try_from(number) {
        Ok(pb::CompareType::Less) => CompareOp::Less,
        Ok(pb::CompareType::LessOrEqual) => CompareOp::LessOrEqual,
        Ok(pb::CompareType::Equal) => CompareOp::Equal,
        Ok(pb::CompareType::NotEqual) => CompareOp::NotEqual,
        Ok(pb::CompareType::GreaterOrEqual) => CompareOp::GreaterOrEqual,
        Ok(pb::CompareType::Greater) => CompareOp::Greater,
        Ok(pb::CompareType::NoOp) => CompareOp::NoOp,
        Err(_) => return Err(Exception::refused(format!("comparison operator {number} is not known"))),
    })
}

/// The comparator of a message.
pub(crate) fn comparator(message: pb::Comparator) -> Result<Comparator, Exception> {
    let class = message.name;
    let bytes = message.serialized_comparator;
    let value = |comparable: pb::ByteArrayComparable| comparable.value.unwrap_or_default();
    Ok(match simple_name(&class) {
        "BinaryComparator" => {
            Comparator::Binary(value(payload::<pb::BinaryComparator>(&class, bytes)?.comparable))
        }
        "BinaryPrefixComparator" => {
            Comparator::BinaryPrefix(value(payload::<pb::BinaryPrefixComparator>(&class, bytes)?.comparable))
        }
        "BinaryComponentComparator" => {
            let message: pb::BinaryComponentComparator = payload(&class, bytes)?;
            Comparator::BinaryComponent { value: message.value, offset: message.offset }
        }
        "BitComparator" => bits(payload(&class, bytes)?)?,
        "LongComparator" => {
            let given = value(payload::<pb::LongComparator>(&class, bytes)?.comparable);
            let number = <[u8; 8]>::try_from(&given[..]).map_err(|_| {
                Exception::refused(format!("a LongComparator of {} bytes; expected 8", given.len()))
            })?;
            Comparator::Long(i64::from_be_bytes(number))
        }
        "BigDecimalComparator" => {
            Comparator::Decimal(value(payload::<pb::BigDecimalComparator>(&class, bytes)?.comparable))
        }
        "NullComparator" => Comparator::Null,
        "SubstringComparator" => {
            Comparator::Substring(payload::<pb::SubstringComparator>(&class, bytes)?.substr)
        }
        "RegexStringComparator" => Comparator::Regex(pattern(&payload(&class, bytes)?)?),
        _ => return Err(Exception::refused(format!("comparator {class} is not known to this server"))),
    })
}

fn bits(message: pb::BitComparator) -> Result<Comparator, Exception> {
    let op = match message.bitwise_op() {
        pb::bit_comparator::BitwiseOp::And => BitOp::And,
        pb::bit_comparator::BitwiseOp::Or => BitOp::Or,
        pb::bit_comparator::BitwiseOp::Xor => BitOp::Xor,
    };
    Ok(Comparator::Bit { value: message.comparable.value.unwrap_or_default(), op })
}

/// Flags of `java.util.regex.Pattern`.
const UNIX_LINES: i32 = 1;
const CASE_INSENSITIVE: i32 = 2;
const COMMENTS: i32 = 4;
const MULTILINE: i32 = 8;
const LITERAL: i32 = 16;
const DOTALL: i32 = 32;
const UNICODE_CASE: i32 = 64;

/// The pattern with Java's flags written into it. Where nothing is said `.` matches line ends, as in HBase.
fn pattern(message: &pb::RegexStringComparator) -> Result<String, Exception> {
    let (text, flags) = (&message.pattern, message.pattern_flags);
    let known = UNIX_LINES | CASE_INSENSITIVE | COMMENTS | MULTILINE | LITERAL | DOTALL | UNICODE_CASE;
    if flags & !known != 0 {
        return Err(Exception::refused(format!(
            "flags {flags:#x} of regular expression {text:?} are not known"
        )));
    }
    let mut written = String::new();
    for (flag, letter) in [(CASE_INSENSITIVE, 'i'), (COMMENTS, 'x'), (MULTILINE, 'm')] {
        if flags & flag != 0 {
            written.push(letter);
        }
    }
    if flags & DOTALL == 0 {
        written.push_str("-s");
    }
    let body = if flags & LITERAL != 0 { literal(text) } else { text.clone() };
    Ok(if written.is_empty() { body } else { format!("(?{written}){body}") })
}

/// The text with a backslash before everything that means something in a pattern.
fn literal(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if letter.is_ascii_punctuation() {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}
