// SPDX-License-Identifier: Apache-2.0
//! Instructions of processors that loops do not become by themselves. Where they are missing the loops do the same, or nothing is done.

/// Bytes that memory hands over at once.
const LINE: usize = 64;

/// Asks memory for bytes that are read soon: a processor guesses what follows what is read, but no further than to the end of a page of 4 KiB.
#[inline]
pub(super) fn ask_for(bytes: &[u8]) {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse"))]
    bytes.iter().step_by(LINE).for_each(safe_arch::prefetch_t0);
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse")))]
    let _ = (bytes, LINE);
}

/// Adds to each number that of `table` whose place is the lower three bits of its code.
#[inline]
pub(super) fn add_looked_up(table: &[u32; 8], codes: &[u32], numbers: &mut [u32]) {
    debug_assert_eq!(codes.len(), numbers.len());
    let (eights, rest) = numbers.as_chunks_mut::<8>();
    let (codes, rest_codes) = codes.as_chunks::<8>();
    for (numbers, codes) in eights.iter_mut().zip(codes) {
        let found = look_up(table, codes);
        numbers.iter_mut().zip(found).for_each(|(number, found)| *number = number.wrapping_add(found));
    }
    for (number, code) in rest.iter_mut().zip(rest_codes) {
        *number = number.wrapping_add(table[(code % 8) as usize]);
    }
}

/// All eight at once from a register, in place of a look into memory for each.
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
#[inline(always)]
fn look_up(table: &[u32; 8], codes: &[u32; 8]) -> [u32; 8] {
    safe_arch::shuffle_av_i32_all_m256i((*table).into(), (*codes).into()).into()
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
#[inline(always)]
fn look_up(table: &[u32; 8], codes: &[u32; 8]) -> [u32; 8] {
    codes.map(|code| table[(code % 8) as usize])
}

#[cfg(test)]
mod tests;
