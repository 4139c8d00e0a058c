// SPDX-License-Identifier: Apache-2.0
//! Whether this machine can run this program.
//!
//! For x86-64 it is compiled with the instructions of level v3 (`.cargo/config.toml`). A processor without them would end it
//! with SIGILL somewhere, which tells nobody what to do. `std::is_x86_feature_detected` cannot ask: where a program is compiled
//! with an instruction it says yes at compile time.

/// Features of x86-64-v3 beyond v2 by their bits: leaf 1 ECX, leaf 7 EBX and leaf 0x8000_0001 ECX of CPUID, in this order.
/// Source: the System V ABI for x86-64, micro-architecture levels.
const FEATURES: [(usize, u32, &str); 8] = [
    (0, 28, "AVX"),
    (0, 12, "FMA"),
    (0, 22, "MOVBE"),
    (0, 29, "F16C"),
    (1, 5, "AVX2"),
    (1, 3, "BMI1"),
    (1, 8, "BMI2"),
    (2, 5, "LZCNT"),
];

/// What this program was compiled with and this processor lacks, as a sentence; none if nothing.
pub(crate) fn complaint() -> Option<String> {
    complaint_about(registers()?)
}

fn complaint_about(registers: [u32; 3]) -> Option<String> {
    let lacks = |&&(register, bit, _): &&(usize, u32, &str)| registers[register] >> bit & 1 == 0;
    let missing: Vec<_> = FEATURES.iter().filter(lacks).map(|(.., name)| *name).collect();
    (!missing.is_empty()).then(|| {
        format!(
            "this program was compiled for x86-64-v3 and this processor lacks {}; \
             compile it with RUSTFLAGS=\"-C target-cpu=x86-64\" (or native) for this machine",
            missing.join(", ")
        )
    })
}

#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
fn registers() -> Option<[u32; 3]> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    let leaves = __cpuid(0).eax;
    let seventh = if leaves >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
    Some([__cpuid(1).ecx, seventh, __cpuid(0x8000_0001).ecx])
}

#[cfg(not(all(target_arch = "x86_64", target_feature = "avx2")))]
fn registers() -> Option<[u32; 3]> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_that_compiled_this_can_run_it() {
        assert_eq!(complaint(), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(complaint_about([u32::MAX; 3]), None);
        let sentence = complaint_about([u32::MAX, !(1 << 5 | 1 << 8), u32::MAX]).unwrap();
        assert!(sentence.contains("lacks AVX2, BMI2;"), "{sentence}");
        assert!(complaint_about([0, 0, 0]).unwrap().contains("LZCNT"));
    }
}
