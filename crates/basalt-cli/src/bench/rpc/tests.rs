// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn figures_are_the_lines_with_two_tabs() {
    let text = "WARNING: unsafe\nget_p50\t61.5\tmicroseconds\nscan_1\t25000.0\trows/s\nno\tnumber\there\n";
    let found = figures(text);
    assert_eq!(found.len(), 2);
    assert_eq!(found["get_p50"], 61.5);
    assert_eq!(found["scan_1"], 25_000.0);
}

#[test]
fn a_report_has_ratios_and_the_share_of_the_client() {
    let measured = |factor: f64, peak: u64| Measured {
        figures: [("get_p50", 60.0 * factor), ("bare_get_p50", 20.0 * factor), ("scan_1", 30_000.0 / factor)]
            .map(|(name, figure)| (name.to_owned(), figure))
            .into(),
        memory: Some(Memory { resident: peak / 2, peak }),
    };
    let text = report::table(&measured(1.0, 100 << 20), &measured(4.0, 1000 << 20));
    assert!(text.contains("| single get, p50 | 240 | 60.0 | µs | 4.0 |"), "{text}");
    assert!(text.contains("| of it the client's own | 160 | 40.0 | µs | |"), "{text}");
    assert!(text.contains("| scan, caching 1 | 7,500 | 30,000 | rows/s | 4.0 |"), "{text}");
    assert!(text.contains("| largest resident memory of the server | 1,000 | 100 | MiB | 10.0 |"), "{text}");
    assert!(!text.contains("multi-get"), "what was not measured is left out: {text}");
}
