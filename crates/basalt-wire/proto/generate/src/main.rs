// SPDX-License-Identifier: Apache-2.0
//! Compiles the .proto files of this folder's parent into one Rust file a package, which are checked in.

use std::fs;
use std::path::Path;

/// Packages, the .proto files of each, and the file that its code goes into.
const PACKAGES: [(&str, &[&str]); 2] = [
    ("hbase", &["admin", "client", "endpoint", "filter", "master", "rpc", "zookeeper"]),
    ("avatica", &["avatica"]),
];

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("generate/ lies in proto/");
    for (package, files) in PACKAGES {
        let names: Vec<String> = files.iter().map(|name| format!("{name}.proto")).collect();
        let set = protox::compile(&names, [folder]).expect("the .proto files compile");
        let out = std::env::temp_dir().join(format!("{package}-pb-{}", std::process::id()));
        fs::create_dir_all(&out).expect("a temporary folder");
        prost_build::Config::new()
            .out_dir(&out)
            .bytes(["."])
            .compile_fds(set)
            .expect("code for the messages");
        let code = fs::read_to_string(out.join(format!("{package}.pb.rs"))).expect("one package, one file");
        let mut sources = String::new();
        for name in &names {
            sources.push_str(&fs::read_to_string(folder.join(name)).expect("a .proto file"));
        }
        let text =
            format!("// Written by `make proto`; sources {:016x}.\n{code}", checksum(sources.as_bytes()));
        let file = folder.join(format!("{package}_pb.generated"));
        fs::write(file, text).expect("the code is written");
        let _ = fs::remove_dir_all(&out);
    }
}

/// FNV-1a, as in `src/pb.rs`, whose test compares it.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
