// SPDX-License-Identifier: Apache-2.0
use std::path::PathBuf;

use super::sim::{Fault, FaultPlan, SimStorage};
use super::*;

/// What every storage must do, whatever lies below it.
fn storage_laws(storage: &dyn Storage, root: PathBuf) {
    let dir = root.join("a/b");
    storage.create_dir(&dir).unwrap();
    storage.create_dir(&dir).unwrap();
    let path = dir.join("file");
    assert_eq!(storage.open(&path).unwrap_err().kind(), io::ErrorKind::NotFound);
    let mut file = storage.create(&path).unwrap();
    file.append(b"hello ").unwrap();
    file.append(b"world").unwrap();
    file.sync(SyncKind::Data).unwrap();
    let read = storage.open(&path).unwrap();
    assert_eq!((read.size(), &read.read_at(6, 5).unwrap()[..]), (11, &b"world"[..]));
    assert_eq!(read.read_at(6, 6).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);

    file.truncate(5).unwrap();
    file.append(b"!").unwrap();
    drop(file);
    storage.open_append(&path).unwrap().append(b"?").unwrap();
    assert_eq!(&storage.open(&path).unwrap().read_at(0, 7).unwrap()[..], b"hello!?");

    let zeros = dir.join("zeros");
    let mut file = storage.create(&zeros).unwrap();
    file.append(b"one").unwrap();
    file.reserve(100_000).unwrap();
    file.append(b"two").unwrap();
    let read = storage.open(&zeros).unwrap();
    assert_eq!((read.size(), &read.read_at(0, 8).unwrap()[..]), (100_003, &b"onetwo\0\0"[..]));
    file.append(&[7; 100_000]).unwrap();
    assert_eq!(storage.open(&zeros).unwrap().size(), 100_006, "longer than what was reserved");
    file.reserve(10).unwrap();
    file.truncate(100_006).unwrap();
    file.append(b"three").unwrap();
    let read = storage.open(&zeros).unwrap();
    assert_eq!((read.size(), &read.read_at(100_005, 6).unwrap()[..]), (100_011, &b"\x07three"[..]));
    storage.remove(&zeros).unwrap();

    let other = dir.join("other");
    storage.create(&other).unwrap().append(b"old").unwrap();
    storage.rename(&path, &other).unwrap();
    assert_eq!(storage.open(&other).unwrap().size(), 7);
    let names: Vec<_> = storage.list(&root.join("a")).unwrap();
    assert_eq!(names, [DirEntry { name: "b".into(), is_dir: true }]);
    assert_eq!(storage.list(&dir).unwrap(), [DirEntry { name: "other".into(), is_dir: false }]);
    storage.sync_dir(&dir).unwrap();
    let open = storage.open(&other).unwrap();
    storage.remove(&other).unwrap();
    assert_eq!(open.read_at(0, 5).unwrap(), "hello", "an open file outlives its name");
    storage.remove_dir(&dir).unwrap();
    assert!(storage.list(&dir).is_err());

    let lock = root.join("LOCK");
    let held = storage.lock(&lock, LockMode::Exclusive).unwrap();
    assert!(matches!(storage.lock(&lock, LockMode::Exclusive), Err(LockError::Held(_))));
    assert!(matches!(storage.lock(&lock, LockMode::Shared), Err(LockError::Held(_))));
    drop(held);
    let shared = storage.lock(&lock, LockMode::Shared).unwrap();
    let second = storage.lock(&lock, LockMode::Shared).unwrap();
    assert!(matches!(storage.lock(&lock, LockMode::Exclusive), Err(LockError::Held(_))));
    drop((shared, second));
    storage.lock(&lock, LockMode::Exclusive).unwrap();
}

#[test]
fn the_local_file_system_keeps_the_storage_laws() {
    let dir = tempfile::tempdir().unwrap();
    storage_laws(&*Env::local().storage, dir.path().to_owned());
}

#[test]
fn the_simulated_file_system_keeps_the_storage_laws() {
    let storage = SimStorage::new(1);
    storage.create_dir(Path::new("/db")).unwrap();
    storage_laws(&storage, PathBuf::from("/db"));
}

#[test]
fn a_second_holder_is_told_who_has_the_lock() {
    let dir = tempfile::tempdir().unwrap();
    let storage = Env::local().storage;
    let _held = storage.lock(&dir.path().join("LOCK"), LockMode::Exclusive).unwrap();
    match storage.lock(&dir.path().join("LOCK"), LockMode::Exclusive) {
        Err(LockError::Held(text)) => assert!(text.starts_with("process ") && text.contains("UTC"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_power_loss_keeps_what_was_synced_and_only_that_for_sure() {
    let (mut kept_all, mut lost_some) = (0, 0);
    for seed in 0..200 {
        let storage = SimStorage::new(seed);
        let path = Path::new("/f");
        let mut file = storage.create(path).unwrap();
        file.append(b"safe").unwrap();
        file.sync(SyncKind::Data).unwrap();
        storage.sync_dir(Path::new("/")).unwrap();
        file.append(b"loose").unwrap();
        let after = storage.power_loss();
        let bytes = after.read(path).unwrap();
        assert!(bytes.starts_with(b"safe"), "seed {seed}");
        if bytes == b"safeloose" {
            kept_all += 1
        } else {
            lost_some += 1
        }
        assert!(file.append(b"x").is_err(), "handles from before the power loss are dead");
    }
    assert!(kept_all > 0 && lost_some > 0, "{kept_all} {lost_some}");
}

#[test]
fn bytes_that_were_cut_off_may_come_back_until_a_sync() {
    let after_cut = |seed, synced: bool| {
        let storage = SimStorage::new(seed);
        let path = Path::new("/f");
        let mut file = storage.create(path).unwrap();
        file.append(b"safe and gone").unwrap();
        file.sync(SyncKind::All).unwrap();
        storage.sync_dir(Path::new("/")).unwrap();
        file.truncate(4).unwrap();
        if synced {
            file.sync(SyncKind::Data).unwrap();
        }
        storage.power_loss().read(path).unwrap()
    };
    assert!((0..50).all(|seed| after_cut(seed, true) == b"safe"));
    let back = (0..50).filter(|&seed| after_cut(seed, false) == b"safe and gone").count();
    let stayed_away = (0..50).filter(|&seed| after_cut(seed, false) == b"safe").count();
    assert!(back > 0 && stayed_away > 0, "{back} {stayed_away}");
}

#[test]
fn what_is_written_over_zeros_is_as_volatile_as_what_is_appended() {
    let (mut zeros, mut arrived) = (0, 0);
    for seed in 0..200 {
        let storage = SimStorage::new(seed);
        let path = Path::new("/f");
        let mut file = storage.create(path).unwrap();
        storage.sync_dir(Path::new("/")).unwrap();
        file.append(b"safe").unwrap();
        file.reserve(2_000).unwrap();
        file.sync(SyncKind::Data).unwrap();
        file.append(b"loose").unwrap();
        let bytes = storage.power_loss().read(path).unwrap();
        assert!(bytes.starts_with(b"safe"), "seed {seed}");
        zeros += usize::from(bytes[4..].iter().all(|&byte| byte == 0));
        arrived += usize::from(bytes[4..].starts_with(b"loose"));
    }
    assert!(zeros > 10 && arrived > 10, "{zeros} {arrived}");
}

#[test]
fn sectors_that_were_not_synced_arrive_in_any_order() {
    let gaps = (0..200).filter(|&seed| {
        let storage = SimStorage::new(seed);
        let mut file = storage.create(Path::new("/f")).unwrap();
        storage.sync_dir(Path::new("/")).unwrap();
        file.append(&[1; 4_096]).unwrap();
        let bytes = storage.power_loss().read(Path::new("/f")).unwrap();
        bytes.iter().skip_while(|&&byte| byte == 1).any(|&byte| byte == 1)
    });
    assert!(gaps.count() > 10);
}

#[test]
fn what_a_failed_sync_gave_up_is_read_until_the_power_goes_and_no_sync_saves_it() {
    let lost = (0..50).filter(|&seed| {
        let storage = SimStorage::new(seed);
        let path = Path::new("/f");
        let mut file = storage.create(path).unwrap();
        storage.sync_dir(Path::new("/")).unwrap();
        file.append(b"given up").unwrap();
        storage.set_faults(Some(FaultPlan { at: 1, calls: 1, fault: Fault::LostSync }));
        file.sync(SyncKind::Data).unwrap_err();
        storage.set_faults(None);
        file.append(b", kept").unwrap();
        file.sync(SyncKind::Data).unwrap();
        assert_eq!(storage.read(path).unwrap(), b"given up, kept");
        let bytes = storage.power_loss().read(path).unwrap();
        assert!(bytes.ends_with(b", kept"), "seed {seed}");
        bytes.starts_with(&[0])
    });
    let lost = lost.count();
    assert!((1..50).contains(&lost), "{lost}");
}

#[test]
fn a_name_that_was_not_synced_may_vanish() {
    let gone = (0..100).filter(|&seed| {
        let storage = SimStorage::new(seed);
        storage.create(Path::new("/f")).unwrap().sync(SyncKind::All).unwrap();
        storage.power_loss().read(Path::new("/f")).is_err()
    });
    let gone = gone.count();
    assert!((1..100).contains(&gone), "{gone}");
}

#[test]
fn the_chosen_call_fails_as_planned() {
    let storage = SimStorage::new(1);
    let mut file = storage.create(Path::new("/f")).unwrap();
    storage.set_faults(Some(FaultPlan { at: 2, calls: 1, fault: Fault::ShortWrite }));
    file.append(b"one").unwrap();
    assert_eq!(file.append(b"twotwo").unwrap_err().kind(), io::ErrorKind::StorageFull);
    file.append(b"three").unwrap();
    assert_eq!(storage.read(Path::new("/f")).unwrap(), b"onetwothree");
    assert_eq!((storage.calls(), storage.injected()), (3, 1));
}
