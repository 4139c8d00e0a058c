// SPDX-License-Identifier: Apache-2.0
//! The protobuf messages, generated from `proto/*.proto` and checked in (`make proto` writes them anew): whoever builds the database
//! compiles neither a protobuf compiler nor a build script.
//!
//! A *required* field that is missing decodes to its default, as prost has it; what would be senseless then is refused
//! where the message is turned into an operation.

#![allow(missing_docs, clippy::all)]

include!("../proto/hbase_pb.generated");

#[cfg(test)]
mod tests {
    const SOURCES: [&str; 7] = [
        include_str!("../proto/admin.proto"),
        include_str!("../proto/client.proto"),
        include_str!("../proto/endpoint.proto"),
        include_str!("../proto/filter.proto"),
        include_str!("../proto/master.proto"),
        include_str!("../proto/rpc.proto"),
        include_str!("../proto/zookeeper.proto"),
    ];

    #[test]
    fn the_code_was_generated_from_these_sources() {
        let fnv = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        let sum = SOURCES.iter().flat_map(|text| text.bytes()).fold(0xcbf2_9ce4_8422_2325, fnv);
        let first = include_str!("../proto/hbase_pb.generated").lines().next().unwrap();
        assert_eq!(first, format!("// Written by `make proto`; sources {sum:016x}."), "run `make proto`");
    }
}
