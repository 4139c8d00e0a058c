// SPDX-License-Identifier: Apache-2.0
//! The recorded workload cut off at every call that reaches storage, and once more at every call of the recovery
//! that follows; and the same workload with the n-th call failing, for every n and every way to fail.
//!
//! After a crash the database must show the state after the last acknowledged step, or after the one under way; of
//! steps acknowledged before they were durable, a prefix. After a failed call it must show the state before the step
//! that returned the error, and take the next step; only a write whose sync failed may turn out to have happened.
//!
//! `BASALT_SEEDS` repeats the crashes with as many fates of what was not synced.

use std::path::Path;

use basalt_store::env::sim::{Fault, FaultPlan, SimStorage};
use basalt_store::{Database, Error, Result, Severity, check};

use crate::recorded::{STEPS, State, Step, open_recorded, shown};
use crate::support::{ROOT, options, report};

/// Runs the workload up to the first error and drops the database as the crash left it; the states that may be found.
fn until_dead(storage: &SimStorage) -> Vec<State> {
    let mut possible = vec![State::new()];
    let mut run = || -> Result<()> {
        let mut db = open_recorded(storage)?;
        for step in STEPS {
            possible.push(step.apply(&possible[possible.len() - 1]));
            if matches!(step, Step::Reopen) {
                db.close()?;
                db = open_recorded(storage)?;
            } else {
                step.act(&db)?;
            }
            if !step.is_loose() {
                possible.drain(..possible.len() - 1);
            }
        }
        db.close()
    };
    // The crash.
    let _ = run();
    possible
}

/// Opens the database, which must show one of the possible states; `thoroughly`: and must go on from there.
fn verify(storage: &SimStorage, possible: &[State], place: &str, thoroughly: bool) {
    let db = open_recorded(storage).unwrap_or_else(|error| panic!("{place}: {error}"));
    let found = shown(&db).unwrap_or_else(|error| panic!("{place}: {error}"));
    let state = possible.iter().find(|possible| **possible == found).cloned();
    let mut state =
        state.unwrap_or_else(|| panic!("{place}: found {found:#?}\nexpected one of {possible:#?}"));
    if !thoroughly {
        return;
    }
    let cells = &[("Z", "z", "f:z", "z")];
    for step in [Step::Create("Z", &["f"]), Step::Write(cells), Step::Flush, Step::Compact(true)] {
        state = step.apply(&state);
        step.act(&db).unwrap_or_else(|error| panic!("{place}: {step:?}: {error}"));
    }
    assert_eq!(shown(&db).unwrap(), state, "{place}: after more work");
    db.close().unwrap();
    let mut damages = Vec::new();
    check(Path::new(ROOT), &options(storage).env, &mut |finding| {
        if finding.severity == Severity::Damage {
            damages.push(finding.to_string());
        }
    })
    .unwrap();
    assert!(damages.is_empty(), "{place}: {damages:?}");
}

/// Crashes at every call of the recovery; the number of crashes.
fn crash_recovery(storage: &SimStorage, possible: &[State], place: &str) -> u64 {
    for at in 1.. {
        let fork = storage.fork(at);
        fork.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
        let opened = open_recorded(&fork);
        if fork.injected() == 0 {
            fork.set_faults(None);
            drop(opened);
            verify(&fork, possible, place, true);
            return at - 1;
        }
        let after = fork.power_loss();
        drop(opened);
        verify(&after, possible, &format!("{place}, then at call {at} of the recovery"), false);
    }
    unreachable!("a recovery ends")
}

fn seeds() -> u64 {
    std::env::var("BASALT_SEEDS").map_or(1, |text| text.parse().expect("BASALT_SEEDS is a number"))
}

#[test]
fn cut_off_at_any_call_and_again_while_recovering_nothing_acknowledged_is_lost() {
    let (mut crashes, mut in_recovery) = (0, 0);
    for seed in 1..=seeds() {
        for at in 1.. {
            let storage = SimStorage::new(seed << 32 | at);
            storage.set_faults(Some(FaultPlan { at, calls: u64::MAX, fault: Fault::Io }));
            let possible = until_dead(&storage);
            if storage.injected() == 0 {
                break;
            }
            crashes += 1;
            let place = format!("seed {seed}, power lost at call {at}");
            in_recovery += crash_recovery(&storage.power_loss(), &possible, &place);
        }
    }
    report(format_args!(
        "{crashes} power losses, and {in_recovery} more during recovery: nothing lost, nothing half there"
    ));
    assert!(crashes > 300 && in_recovery > 3_000, "{crashes} crashes, {in_recovery} during recovery");
}

/// What the workload does when calls fail.
struct Failing<'a> {
    storage: &'a SimStorage,
    place: &'a str,
    state: State,
    errors: u64,
    /// Calls that could have failed.
    calls: u64,
}

impl Failing<'_> {
    /// Calls fail a few times in a row at most.
    fn open(&mut self) -> Database {
        for _ in 0..10 {
            match open_recorded(self.storage) {
                Ok(db) => return db,
                Err(error) => self.note(&error),
            }
        }
        panic!("{}: the database cannot be opened", self.place);
    }

    fn shown(&self, db: &Database) -> State {
        let tries = (0..10).map(|_| shown(db));
        tries.filter_map(Result::ok).next().unwrap_or_else(|| panic!("{}: reads go on failing", self.place))
    }

    fn note(&mut self, error: &Error) {
        self.errors += 1;
        let expected = matches!(error, Error::Io { .. } | Error::OutOfSpace { .. } | Error::LogFailed { .. });
        assert!(expected, "{}: {error}", self.place);
    }

    fn run(&mut self) {
        let mut db = self.open();
        // What the last step would have led to, if it failed and nothing has settled that yet.
        let mut doubt = None;
        for step in STEPS.iter().filter(|step| !matches!(step, Step::WriteAsync(_))) {
            if !step.applies(&self.state) {
                continue;
            }
            let after = step.apply(&self.state);
            let done = if matches!(step, Step::Reopen) {
                let closed = db.close();
                db = self.open();
                closed
            } else {
                step.act(&db)
            };
            let Err(error) = done else {
                (self.state, doubt) = (after, None);
                continue;
            };
            self.note(&error);
            let mut possible = vec![self.state.clone()];
            if matches!(error, Error::LogFailed { .. }) {
                drop(db);
                db = self.open();
                possible.push(after.clone());
            } else if matches!(step, Step::Reopen) {
                possible.extend(doubt.take());
            }
            let found = self.shown(&db);
            let place = self.place;
            let state = possible.into_iter().find(|possible| *possible == found);
            let state =
                state.unwrap_or_else(|| panic!("{place}: {step:?} failed with {error} and left {found:#?}"));
            (self.state, doubt) = (state, Some(after));
        }
        assert_eq!(self.shown(&db), self.state, "{}", self.place);
        // A change of the manifest that failed at the very end may still be in doubt; the next one settles it.
        self.calls = self.storage.calls();
        self.storage.set_faults(None);
        let last = Step::Create("Y", &["f"]);
        self.state = last.apply(&self.state);
        last.act(&db).unwrap_or_else(|error| panic!("{}: {error}", self.place));
        for (storage, when) in [
            (self.storage.fork(1), "after a restart"),
            (self.storage.fork(2).power_loss(), "after a power loss"),
        ] {
            verify(&storage, std::slice::from_ref(&self.state), &format!("{}, {when}", self.place), true);
        }
    }
}

#[test]
fn whichever_calls_fail_the_step_is_undone_and_the_next_ones_work() {
    let (mut injected, mut errors) = (0, 0);
    let single = [Fault::Full, Fault::Io, Fault::ShortWrite, Fault::LostSync].map(|fault| (fault, 1));
    for (fault, calls) in single.into_iter().chain([(Fault::Full, 4), (Fault::Io, 4), (Fault::LostSync, 3)]) {
        // Runs of failures begin at every third call.
        for at in (1..).step_by(if calls == 1 { 1 } else { 3 }) {
            let storage = SimStorage::new(at);
            storage.set_faults(Some(FaultPlan { at, calls, fault }));
            let place = format!("{fault:?} at call {at} and {} more", calls - 1);
            let mut run =
                Failing { storage: &storage, place: &place, state: State::new(), errors: 0, calls: 0 };
            run.run();
            (injected, errors) = (injected + storage.injected(), errors + run.errors);
            if run.calls < at {
                break;
            }
        }
    }
    report(format_args!(
        "{injected} calls failed, {errors} errors reported: nothing lost, nothing half there"
    ));
    assert!(injected > 2_000 && errors > 1_000, "{injected} calls failed, {errors} errors reported");
}
