// SPDX-License-Identifier: Apache-2.0
//! Numbers with a power of ten, as Java's DecimalFormat writes them.
//!
//! ```text
//! 0.0E0    12345 -> 1.2E4       one digit before the point
//! 00.0E0   12345 -> 12.3E3      two
//! ##0.0E0  12345 -> 12.345E3    the power is a multiple of three; as many digits as the pattern has before and behind the point
//! ```

/// The largest power of ten that is read: no type has a larger number.
const POWER_MAX: i32 = 400;

/// The power of ten of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Exponent {
    /// Digits that the power has at least.
    pub(super) digits_min: usize,
    /// Digits before the point of the pattern, `#` and `0`.
    pub(super) whole_max: usize,
}

impl Exponent {
    /// `digits` with the point behind the first `point` of them. `fraction` is how many digits stand behind the point, at least
    /// and at most.
    pub(super) fn format(
        &self,
        mut digits: Vec<u8>,
        point: usize,
        whole_min: usize,
        [fraction_min, fraction_max]: [usize; 2],
    ) -> String {
        let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
        digits.drain(..zeros);
        let mut carried = 0;
        super::round(&mut digits, &mut carried, self.whole_max + fraction_max);
        while digits.last() == Some(&0) {
            digits.pop();
        }
        // The number is 0.DIGITS times ten to this power.
        let power = (point + carried) as i64 - zeros as i64;
        let repeat = self.whole_max as i64;
        let is_repeated = self.whole_max > 1 && self.whole_max > whole_min;
        let whole_min_here = if is_repeated { 1 } else { whole_min };
        let shown = match power {
            _ if digits.is_empty() => 0,
            1.. if is_repeated => (power - 1) / repeat * repeat,
            _ if is_repeated => (power - repeat) / repeat * repeat,
            _ => power - whole_min as i64,
        };
        let whole = if digits.is_empty() { whole_min_here } else { (power - shown) as usize };
        let wanted = digits.len().max(whole_min + fraction_min).max(whole);
        let mut text = String::new();
        for at in 0..wanted {
            if at == whole {
                text.push('.');
            }
            text.push(char::from(b'0' + digits.get(at).copied().unwrap_or(0)));
        }
        if text.is_empty() {
            text.push('0');
        }
        let sign = if shown < 0 { "-" } else { "" };
        format!("{text}E{sign}{:0>width$}", shown.unsigned_abs(), width = self.digits_min)
    }
}

/// Digits and their power of ten; `None` if it is not one.
pub(super) fn split(text: &str) -> Option<(&str, i32)> {
    match text.split_once('E') {
        None => Some((text, 0)),
        Some((digits, power)) => {
            let power = power.parse().ok().filter(|power: &i32| power.abs() <= POWER_MAX)?;
            Some((digits, power))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::NumberFormat;

    /// What OpenJDK 17 writes.
    #[test]
    fn powers_of_ten_are_written_as_in_java() {
        let numbers = ["0", "1.5", "-0.5", "12345", "123456", "0.00012345", "999.99", "0.000000999"];
        for (pattern, texts) in [
            ("0.0E0", "0.0E0 1.5E0 -5.0E-1 1.2E4 1.2E5 1.2E-4 1.0E3 1.0E-6"),
            ("0.###E0", "0E0 1.5E0 -5E-1 1.234E4 1.235E5 1.234E-4 1E3 9.99E-7"),
            ("##0.##E0", "0E0 1.5E0 -500E-3 12.345E3 123.46E3 123.45E-6 999.99E0 999E-9"),
            ("00.00E00", "00.00E00 15.00E-01 -50.00E-02 12.34E03 12.35E04 12.34E-05 10.00E02 99.90E-08"),
            ("0E0", "0E0 2E0 -5E-1 1E4 1E5 1E-4 1E3 1E-6"),
            ("#.##E0", "0E0 1.5E0 -5E-1 1.23E4 1.23E5 1.23E-4 1E3 9.99E-7"),
            ("#0.0#E0", "0.0E0 1.5E0 -50E-2 1.234E4 12.35E4 1.234E-4 10E2 99.9E-8"),
            ("$0.00E0;($0.00E0)", "$0.00E0 $1.50E0 ($5.00E-1) $1.23E4 $1.23E5 $1.23E-4 $1.00E3 $9.99E-7"),
            ("0.0E0%", "0.0E0% 1.5E2% -5.0E1% 1.2E6% 1.2E7% 1.2E-2% 1.0E5% 1.0E-4%"),
            ("#,##0E0", "0E0 1.5E0 -5000E-4 1.234E4 12.35E4 1.234E-4 1000E0 99.9E-8"),
            ("#E0", "0E0 .2E1 -.5E0 .1E5 .1E6 .1E-3 .1E4 .1E-5"),
        ] {
            let format = NumberFormat::new(pattern).expect("a pattern");
            let found: Vec<String> = numbers.iter().map(|number| format.format(number)).collect();
            assert_eq!(found.join(" "), texts, "{pattern}");
        }
    }
}
