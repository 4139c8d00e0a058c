// SPDX-License-Identifier: Apache-2.0
use super::*;
use crate::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_model::Seq;

fn open(storage: &SimStorage) -> ManifestStore {
    let env = Env::with_storage(Arc::new(storage.clone()));
    let root = PathBuf::from("/db");
    env.storage.create_dir(&root).unwrap();
    match find(&env, &root).unwrap() {
        Found::Empty => ManifestStore::new(env, root, Manifest::empty(7), Vec::new()),
        Found::Manifest { manifest, numbers, .. } => ManifestStore::new(env, root, *manifest, numbers),
    }
}

#[test]
fn the_highest_valid_manifest_counts_and_two_stay() {
    let storage = SimStorage::new(1);
    let mut store = open(&storage);
    for seq in 1..=5 {
        store.change(|manifest| manifest.last_seq = Seq(seq)).unwrap();
    }
    let names: Vec<_> = storage.files().iter().map(|path| path.display().to_string()).collect();
    assert_eq!(names, ["/db/MANIFEST-00000000000000000004", "/db/MANIFEST-00000000000000000005"]);
    assert_eq!(open(&storage).current().last_seq, Seq(5));
    storage
        .overwrite(Path::new("/db/MANIFEST-00000000000000000005"), b"basalt manifest 1 9".to_vec())
        .unwrap();
    assert_eq!(open(&storage).current().last_seq, Seq(4));
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = encode(&Manifest::empty(7));
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // A flipped case bit in the checksum's hexadecimal digits says the same number.
        if let Ok(manifest) = decode(&flipped, Path::new("M")) {
            assert_eq!(manifest, Manifest::empty(7), "bit {bit}");
        }
    }
    for len in 0..bytes.len() {
        assert!(decode(&bytes[..len], Path::new("M")).is_err(), "cut to {len}");
    }
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let text = b"basalt manifest 99 2 00000000\n{}";
    match decode(text, Path::new("M")) {
        Err(Error::NewerFormat { found: 99, supported: FORMAT, .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_change_is_not_in_force_and_the_next_one_works() {
    for fault in [Fault::Full, Fault::Io, Fault::ShortWrite, Fault::LostSync] {
        for at in 1..=8 {
            let storage = SimStorage::new(at);
            let mut store = open(&storage);
            store.change(|manifest| manifest.last_seq = Seq(1)).unwrap();
            storage.set_faults(Some(FaultPlan { at, calls: 1, fault }));
            let failed = store.change(|manifest| manifest.last_seq = Seq(2)).is_err();
            storage.set_faults(None);
            assert!(!store.uncertain(), "{fault:?} at {at}");
            let expected = if failed { Seq(1) } else { Seq(2) };
            assert_eq!(store.current().last_seq, expected);
            assert_eq!(
                open(&storage.fork(at).power_loss()).current().last_seq,
                expected,
                "{fault:?} at {at}"
            );
            store.change(|manifest| manifest.last_seq = Seq(3)).unwrap();
            assert_eq!(open(&storage.power_loss()).current().last_seq, Seq(3));
        }
    }
}

#[test]
fn a_foreign_directory_is_not_taken_for_a_database() {
    let storage = SimStorage::new(1);
    let env = Env::with_storage(Arc::new(storage.clone()));
    env.storage.create_dir(Path::new("/db")).unwrap();
    assert!(matches!(find(&env, Path::new("/db")), Ok(Found::Empty)));
    env.storage.create(Path::new("/db/letter.txt")).unwrap();
    assert!(matches!(find(&env, Path::new("/db")), Err(Error::NotADatabase { .. })));
}
