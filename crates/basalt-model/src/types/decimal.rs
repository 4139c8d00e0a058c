// SPDX-License-Identifier: Apache-2.0
//! DECIMAL: up to 38 digits, variable width, at most 21 bytes.
//!
//! The absolute value is written as `0.g0 g1 … gk (base 100) * 100^e` with `g0 != 0` and `gk != 0`:
//!
//! ```text
//! zero      80
//! positive  (e + 64) | 80, then g + 1 for every digit
//! negative  !(e + 64 + 128) & 7f, then 101 - g for every digit, then 66 unless that made 21 bytes
//!
//! -100 3d6466   -1 3e6466   -0.5 3f3366   0 80   0.001 bf0b   1 c102   1.5 c10233   100 c202
//! ```
//!
//! Trailing zeros do not survive: 1.50 and 1.5 have one form, the scale of a column is in its schema.

/// Most decimal digits that a DECIMAL can have.
pub const DIGITS_MAX: u32 = 38;
/// Longest encoded form in bytes.
pub const BYTES_MAX: usize = 21;

const ZERO: u8 = 0x80;
const NEGATIVE_END: u8 = 102;
const PAIRS_MAX: usize = BYTES_MAX - 1;
/// The digit pairs that a `u64` holds without overflow.
const PAIRS_FAST: usize = 9;

const POWERS: [i128; 39] = {
    let mut powers = [1i128; 39];
    let mut i = 1;
    while i < 39 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// `10^exponent`, or `None` above 38.
pub fn power_of_ten(exponent: u32) -> Option<i128> {
    POWERS.get(exponent as usize).copied()
}

/// The number `unscaled / 10^scale`.
#[derive(Debug, Clone, Copy)]
pub struct Decimal {
    /// The digits.
    pub unscaled: i128,
    /// How many of the digits are behind the point; negative for zeros before it.
    pub scale: i32,
}

/// Why a number is no DECIMAL, or bytes are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalError {
    /// The number needs more digits, or a larger exponent, than the form has.
    OutOfRange,
    /// The bytes are malformed.
    Bytes(&'static str),
}

impl Decimal {
    /// A number of the given digits.
    pub fn new(unscaled: i128, scale: i32) -> Self {
        Self { unscaled, scale }
    }

    /// The same number without trailing zeros.
    pub fn normalized(self) -> Self {
        let Self { mut unscaled, mut scale } = self;
        if unscaled == 0 {
            return Self { unscaled: 0, scale: 0 };
        }
        while unscaled % 10 == 0 {
            unscaled /= 10;
            scale = scale.saturating_sub(1);
        }
        Self { unscaled, scale }
    }

    /// The digits at another scale, cut off (not rounded) where they do not fit, as Phoenix does; `None`
    /// if they overflow.
    pub fn rescale(self, scale: i32) -> Option<i128> {
        if self.unscaled == 0 {
            return Some(0);
        }
        let shift = scale as i64 - self.scale as i64;
        if shift < 0 {
            return Some(u32::try_from(-shift).ok().and_then(power_of_ten).map_or(0, |p| self.unscaled / p));
        }
        self.unscaled.checked_mul(power_of_ten(u32::try_from(shift).ok()?)?)
    }
}

impl PartialEq for Decimal {
    /// Equal as numbers: 1.50 is 1.5.
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.normalized(), other.normalized());
        a.unscaled == b.unscaled && a.scale == b.scale
    }
}

impl std::fmt::Display for Decimal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.unscaled.unsigned_abs().to_string();
        let sign = if self.unscaled < 0 { "-" } else { "" };
        let scale = self.scale;
        if scale <= 0 {
            return match self.unscaled {
                0 => f.write_str("0"),
                _ if scale < -64 => write!(f, "{sign}{digits}E+{}", -(scale as i64)),
                _ => write!(f, "{sign}{digits}{:0<1$}", "", -scale as usize),
            };
        }
        let scale = scale as usize;
        let padded = format!("{digits:0>width$}", width = scale.min(128) + 1);
        let point = padded.len().saturating_sub(scale);
        write!(f, "{sign}{}.{}", &padded[..point], &padded[point..])
    }
}

/// Appends the ASC form of a number. More than 38 digits are rounded half-up to 38.
pub fn encode(value: Decimal, out: &mut Vec<u8>) -> Result<(), DecimalError> {
    let mut pairs = [0u8; PAIRS_MAX + 1];
    let (digits, scale) = at_most_38_digits(value);
    if digits == 0 {
        out.push(ZERO);
        return Ok(());
    }
    let (start, exponent_of_last) = split_pairs(digits, scale, &mut pairs);
    let mut end = pairs.len();
    while pairs[end - 1] == 0 {
        end -= 1;
    }
    // `exponent_of_last` is that of the last pair in the array, before zeros were cut off.
    let exponent = exponent_of_last + (pairs.len() - start) as i64;
    if !(-64..=63).contains(&exponent) {
        return Err(DecimalError::OutOfRange);
    }
    let biased = (exponent + 64) as u8;
    let pairs = &pairs[start..end];
    debug_assert!(!pairs.is_empty() && pairs.len() <= PAIRS_MAX);
    let mut form = [0u8; BYTES_MAX + 1];
    let mut len = pairs.len() + 1;
    if value.unscaled < 0 {
        form[0] = !(biased | 0x80) & 0x7f;
        for (to, pair) in form[1..].iter_mut().zip(pairs) {
            *to = 101 - pair;
        }
        if len < BYTES_MAX {
            form[len] = NEGATIVE_END;
            len += 1;
        }
    } else {
        form[0] = biased | 0x80;
        for (to, pair) in form[1..].iter_mut().zip(pairs) {
            *to = pair + 1;
        }
    }
    out.extend_from_slice(&form[..len]);
    Ok(())
}

/// Length of the ASC form of `digits / 10^scale`, of which there are at most 18 digits.
pub fn encoded_len(digits: i64, scale: i32) -> usize {
    let mut pairs = digits.unsigned_abs();
    debug_assert!(pairs < 10u64.pow(18), "at most 18 digits");
    if scale & 1 != 0 {
        pairs *= 10;
    }
    while pairs != 0 && pairs.is_multiple_of(100) {
        pairs /= 100;
    }
    match pairs {
        0 => 1,
        _ => 2 + pairs.ilog10() as usize / 2 + usize::from(digits < 0),
    }
}

/// Absolute digits, at most 38 of them, and their scale.
fn at_most_38_digits(value: Decimal) -> (u128, i64) {
    let digits = value.unscaled.unsigned_abs();
    if digits < POWERS[38] as u128 {
        return (digits, value.scale as i64);
    }
    // 39 digits are the most that an i128 has.
    let rounded = digits / 10 + u128::from(digits % 10 >= 5);
    (rounded, value.scale as i64 - 1)
}

/// Writes the base-100 digits to the end of `pairs`; returns where the first (non-zero) one lies and the
/// power of 100 of the last one's unit.
#[inline]
fn split_pairs(digits: u128, scale: i64, pairs: &mut [u8; PAIRS_MAX + 1]) -> (usize, i64) {
    let mut at = pairs.len();
    let odd = scale & 1 != 0;
    let exponent_of_last = -((scale + i64::from(odd)) / 2);
    let mut high = digits;
    if odd {
        at -= 1;
        pairs[at] = (high % 10) as u8 * 10;
        high /= 10;
    }
    // 128-bit division is slow; nine pairs at a time fit a u64.
    while high > u64::MAX as u128 {
        let mut low = (high % 1_000_000_000_000_000_000) as u64;
        high /= 1_000_000_000_000_000_000;
        for _ in 0..PAIRS_FAST {
            at -= 1;
            pairs[at] = (low % 100) as u8;
            low /= 100;
        }
    }
    let mut high = high as u64;
    while high != 0 {
        at -= 1;
        pairs[at] = (high % 100) as u8;
        high /= 100;
    }
    while at < pairs.len() && pairs[at] == 0 {
        at += 1;
    }
    (at, exponent_of_last)
}

/// The parts of an encoded number: its sign, its digit bytes, and the power of 100 of the last digit's unit.
struct Parts<'a> {
    negative: bool,
    digits: &'a [u8],
    exponent_of_last: i32,
}

impl Parts<'_> {
    /// Digit `byte` as 0..=99, or something greater when it is no digit.
    #[inline]
    fn pair(&self, byte: u8) -> u8 {
        if self.negative { 101u8.wrapping_sub(byte) } else { byte.wrapping_sub(1) }
    }
}

#[inline]
fn parts(bytes: &[u8]) -> Result<Option<Parts<'_>>, DecimalError> {
    let (&first, digits) = bytes.split_first().ok_or(DecimalError::Bytes("there are none"))?;
    let negative = first < 0x80;
    let digits = match digits {
        [digits @ .., NEGATIVE_END] if negative => digits,
        digits => digits,
    };
    if digits.is_empty() {
        return if bytes == [ZERO] { Ok(None) } else { Err(DecimalError::Bytes("there are no digits")) };
    }
    if digits.len() > PAIRS_MAX {
        return Err(DecimalError::Bytes("there are more than 21 bytes"));
    }
    let biased = if negative { !first & 0x7f } else { first & 0x7f };
    let exponent_of_last = biased as i32 - 64 - digits.len() as i32;
    Ok(Some(Parts { negative, digits, exponent_of_last }))
}

const NOT_A_DIGIT: DecimalError = DecimalError::Bytes("a digit is out of range");

/// The number that an ASC form stands for.
pub fn decode(bytes: &[u8]) -> Result<Decimal, DecimalError> {
    let Some(parts) = parts(bytes)? else { return Ok(Decimal::new(0, 0)) };
    let (&last, leading) = parts.digits.split_last().ok_or(DecimalError::Bytes("there are no digits"))?;
    let mut unscaled = 0i128;
    for &byte in leading {
        let pair = parts.pair(byte);
        if pair > 99 {
            return Err(NOT_A_DIGIT);
        }
        unscaled = unscaled * 100 + pair as i128;
    }
    let pair = parts.pair(last);
    if pair > 99 {
        return Err(NOT_A_DIGIT);
    }
    // The last pair of 38 digits may end in a zero that would make 39 of them.
    let (factor, digit, scale) = match pair % 10 {
        0 => (10, pair / 10, -2 * parts.exponent_of_last - 1),
        _ => (100, pair, -2 * parts.exponent_of_last),
    };
    let unscaled = unscaled.checked_mul(factor).and_then(|u| u.checked_add(digit as i128));
    let unscaled = unscaled.ok_or(DecimalError::Bytes("there are more than 38 digits"))?;
    Ok(Decimal::new(if parts.negative { -unscaled } else { unscaled }, scale))
}

/// The digits that an ASC form has at a given scale, cut off where it has more. Fast for up to 18 digits.
#[inline]
pub fn decode_to_scale(bytes: &[u8], scale: i32) -> Result<i128, DecimalError> {
    let Some(parts) = parts(bytes)? else { return Ok(0) };
    let shift = 2 * parts.exponent_of_last + scale;
    if parts.digits.len() > PAIRS_FAST || !(0..=18).contains(&shift) {
        return decode(bytes)?.rescale(scale).ok_or(DecimalError::OutOfRange);
    }
    let mut unscaled = 0u64;
    let mut greatest = 0u8;
    for &byte in parts.digits {
        let pair = parts.pair(byte);
        greatest = greatest.max(pair);
        unscaled = unscaled.wrapping_mul(100).wrapping_add(pair as u64);
    }
    if greatest > 99 {
        return Err(NOT_A_DIGIT);
    }
    let unscaled = unscaled as i128 * POWERS[shift as usize];
    Ok(if parts.negative { -unscaled } else { unscaled })
}
