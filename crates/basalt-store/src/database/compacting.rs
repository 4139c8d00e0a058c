// SPDX-License-Identifier: Apache-2.0
//! Which families are being compacted: one is by one thread at a time, several at once.
//!
//! So a long compaction of a large table keeps none of the small ones waiting, neither those of the upkeep nor those that somebody asks for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex};

use crate::compact::Control;
use crate::ids::RegionId;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Compacting {
    state: Mutex<State>,
    /// A family is free again.
    freed: Condvar,
    /// A family is free again that somebody was refused meanwhile.
    look_again: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    under_way: Vec<Entry>,
    stopping: bool,
}

#[derive(Debug)]
struct Entry {
    region: RegionId,
    family: String,
    control: Arc<Control>,
    refused_others: bool,
}

impl Entry {
    fn is_of(&self, region: RegionId, family: &str) -> bool {
        self.region == region && self.family == family
    }
}

/// A family that nobody else compacts as long as this lives.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    compacting: &'a Compacting,
    control: Arc<Control>,
}

impl Claim<'_> {
    /// Cancelled when the database closes.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut state = self.compacting.state.lock();
        let own = |entry: &Entry| Arc::ptr_eq(&entry.control, &self.control);
        let at = state.under_way.iter().position(own).expect("listed as long as it is claimed");
        if state.under_way.swap_remove(at).refused_others {
            self.compacting.look_again.store(true, Relaxed);
        }
        self.compacting.freed.notify_all();
    }
}

impl Compacting {
    /// The family, once nobody else compacts it; at once with a cancelled control if the database closes.
    pub(super) fn claim(&self, region: RegionId, family: &str) -> Claim<'_> {
        let mut state = self.state.lock();
        while !state.stopping && state.under_way.iter().any(|entry| entry.is_of(region, family)) {
            self.freed.wait(&mut state);
        }
        self.begin(&mut state, region, family)
    }

    /// The family, unless somebody compacts it; then it is to be looked at again ([`Self::take_look_again`]).
    pub(super) fn try_claim(&self, region: RegionId, family: &str) -> Option<Claim<'_>> {
        let mut state = self.state.lock();
        if let Some(entry) = state.under_way.iter_mut().find(|entry| entry.is_of(region, family)) {
            entry.refused_others = true;
            return None;
        }
        Some(self.begin(&mut state, region, family))
    }

    /// True once after a family came free that somebody was refused.
    pub(super) fn take_look_again(&self) -> bool {
        self.look_again.load(Relaxed) && self.look_again.swap(false, Relaxed)
    }

    fn begin(&self, state: &mut State, region: RegionId, family: &str) -> Claim<'_> {
        let control = Arc::new(Control::default());
        if state.stopping {
            control.cancel();
        }
        let family = family.to_owned();
        state.under_way.push(Entry { region, family, control: Arc::clone(&control), refused_others: false });
        Claim { compacting: self, control }
    }

    /// Cancels all that are under way, and all that begin from now on.
    pub(super) fn stop(&self) {
        let mut state = self.state.lock();
        state.stopping = true;
        state.under_way.iter().for_each(|entry| entry.control.cancel());
        self.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_compacted_by_one_at_a_time_and_several_at_once() {
        let compacting = Compacting::default();
        let first = compacting.claim(RegionId(1), "f");
        assert!(compacting.try_claim(RegionId(1), "f").is_none() && !compacting.take_look_again());
        let others = [compacting.try_claim(RegionId(1), "g"), compacting.try_claim(RegionId(2), "f")];
        assert!(others.iter().all(Option::is_some));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| compacting.claim(RegionId(1), "f").control().is_cancelled());
            drop(first);
            assert!(!waiting.join().expect("nothing panics"));
        });
        assert!(compacting.try_claim(RegionId(1), "f").is_some());
        assert!(compacting.take_look_again() && !compacting.take_look_again());
    }

    #[test]
    fn closing_cancels_what_runs_and_whoever_waits() {
        let compacting = Compacting::default();
        let running = compacting.claim(RegionId(1), "f");
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| compacting.claim(RegionId(1), "f").control().is_cancelled());
            compacting.stop();
            assert!(waiting.join().expect("nothing panics"));
        });
        assert!(
            running.control().is_cancelled() && compacting.claim(RegionId(2), "f").control().is_cancelled()
        );
    }
}
