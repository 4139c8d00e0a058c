// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn user_names_cannot_leave_their_directory() {
    let name = TableName::new("..", "a/../b c");
    assert_eq!(region_dir(&name, RegionId(7)), "data/%2E./a%2F..%2Fb%20c/00000000000000000007");
}

#[test]
fn only_full_names_are_ours() {
    assert_eq!(parse_manifest_name(&manifest_name(42)), Some(42));
    assert_eq!(parse_manifest_name("MANIFEST-42"), None);
    assert_eq!(parse_manifest_name("MANIFEST-+0000000000000000042"), None);
    assert!(is_manifest_temporary(&manifest_temporary_name(1)));
    assert_eq!(parse_segment_name("00000000000000000003.log"), Some(3));
    assert_eq!(parse_segment_name("00000000000000000003.txt"), None);
    let temporary = segment_temporary_path(&segment_path(Path::new("/db"), 3));
    assert!(is_segment_temporary(temporary.file_name().unwrap().to_str().unwrap()));
    assert!(!is_segment_temporary("00000000000000000003.log"));
}
