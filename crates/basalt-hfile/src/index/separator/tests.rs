// SPDX-License-Identifier: Apache-2.0
use super::*;

#[test]
fn middles_lie_between() {
    assert_eq!(middle(b"row17x", b"row20"), Some(b"row2".to_vec()));
    assert_eq!(middle(b"a", b"ab"), Some(b"a\0".to_vec()));
    assert_eq!(middle(b"a", b"a"), None);
    assert_eq!(middle(b"a\xfe", b"a\xff"), Some(b"a\xff".to_vec()));
    for (low, high) in [(&b"abc"[..], &b"abd"[..]), (b"", b"\0"), (b"a", b"a\0"), (b"x", b"z")] {
        let middle = middle(low, high).unwrap();
        assert!(low < &middle[..] && &middle[..] <= high, "{low:?} {middle:?} {high:?}");
    }
}

#[test]
fn a_separator_lies_between_the_keys_it_separates() {
    let key = |row, qualifier, timestamp| FlatKey { row, family: b"f", qualifier, timestamp, type_code: 4 };
    let pairs = [
        (key(b"r1", b"a", 5), key(b"r2", b"a", 5)),
        (key(b"r1", b"a", 5), key(b"r1", b"b", 5)),
        (key(b"r1", b"a", 5), key(b"r1", b"a", 4)),
    ];
    for (last, first) in pairs {
        let middle = separator(&last, &first);
        let middle = FlatKey::parse(&middle).unwrap();
        assert!(last.compare(&middle).is_lt() && middle.compare(&first).is_le(), "{middle}");
    }
}
