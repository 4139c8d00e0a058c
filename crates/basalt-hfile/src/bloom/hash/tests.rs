// SPDX-License-Identifier: Apache-2.0
use super::*;

/// Values of HBase's own classes: key, then h1 and h2 of Jenkins, Murmur, Murmur3.
#[test]
fn hashes_equal_those_of_hbase() {
    let cases: [(&[u8], [u32; 6]); 6] = [
        (b"", [0xdeadbeef, 0xbd5b7dde, 0, 0, 0, 0]),
        (b"a", [0x58d68708, 0x00bb489d, 0x92685f5e, 0x5b2b9c66, 0x3c2569b2, 0x8935f798]),
        (b"row1", [0xe9f826c6, 0x39cc7275, 0x09444512, 0xa1be7502, 0xbcdf3f8b, 0x4e2a3031]),
        (b"hello world, hbase!", [0x6e3fa077, 0xdc660368, 0xdc2e6352, 0x87fbb706, 0x9ee2c0fc, 0xaf68e41d]),
        (b"\x80\xff\x01", [0x11df255a, 0xffe1ccdf, 0x43863372, 0x68e978c6, 0xa83da2e8, 0x60e6533e]),
        (
            b"\x01\x02\x03\x04\xfe\x90",
            [0xf29f7b2e, 0xee2913c8, 0xf29db6fd, 0x2ba56cb5, 0xa989fc35, 0x8646383c],
        ),
    ];
    for (key, expected) in cases {
        let kinds = [HashKind::Jenkins, HashKind::Murmur, HashKind::Murmur3];
        for (kind, expected) in kinds.into_iter().zip(expected.chunks(2)) {
            let (first, second) = kind.pair(key);
            assert_eq!([first as u32, second as u32], expected, "{kind:?} of {key:02x?}");
        }
    }
}
