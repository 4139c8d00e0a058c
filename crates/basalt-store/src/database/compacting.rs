// SPDX-License-Identifier: Apache-2.0
//! Which families are being compacted, and which cannot be at the moment.
//!
//! A family is compacted by one thread at a time, several families at once: as many as there is memory for what they write. So a long compaction of
//! a large table does not keep the others waiting. Who asks for a compaction comes before the upkeep.
//!
//! A family whose compaction failed is left alone for a while, longer each time, so that neither a damaged file nor a full disk keeps the
//! upkeep from all the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use crate::compact::Control;
use crate::error::Error;
use crate::ids::RegionId;

/// Compactions at once if nobody says otherwise.
const SLOTS: usize = 2;
/// Time until a compaction that failed is tried again, the first time and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));
/// The same of one that met damage, which does not heal: files are copied back by hand.
const RETRY_DAMAGED: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(900));

/// See the module.
#[derive(Debug)]
pub(super) struct Compacting {
    slots: usize,
    state: Mutex<State>,
    /// A family is free again.
    freed: Condvar,
    /// Who waits for a family or for a slot.
    waiting: AtomicUsize,
    /// A family, or a slot, is free again that the upkeep was refused meanwhile.
    look_again: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    under_way: Vec<Entry>,
    failing: Vec<Failing>,
    refused: bool,
    stopping: bool,
}

#[derive(Debug)]
struct Entry {
    region: RegionId,
    family: String,
    control: Arc<Control>,
}

#[derive(Debug)]
struct Failing {
    region: RegionId,
    family: String,
    times: u32,
    /// It is left alone until this moment of the monotonic clock.
    until: Duration,
    /// Somebody was told that the moment is over.
    is_announced: bool,
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
        state.under_way.retain(|entry| !Arc::ptr_eq(&entry.control, &self.control));
        if std::mem::take(&mut state.refused) {
            self.compacting.look_again.store(true, Relaxed);
        }
        self.compacting.freed.notify_all();
    }
}

impl Default for Compacting {
    fn default() -> Self {
        Self::new(SLOTS)
    }
}

impl State {
    fn is_busy(&self, region: RegionId, family: &str) -> bool {
        self.under_way.iter().any(|entry| entry.region == region && entry.family == family)
    }

    fn failing(&mut self, region: RegionId, family: &str) -> Option<&mut Failing> {
        self.failing.iter_mut().find(|failing| failing.region == region && failing.family == family)
    }
}

impl Compacting {
    /// So many compactions at once.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots,
            state: Mutex::default(),
            freed: Condvar::new(),
            waiting: AtomicUsize::new(0),
            look_again: AtomicBool::new(false),
        }
    }

    /// Compactions at once, at most.
    pub(super) fn slots(&self) -> usize {
        self.slots
    }

    /// The family, once nobody else compacts it and there is a slot, before the upkeep; at once with a cancelled control if the database
    /// closes.
    pub(super) fn claim(&self, region: RegionId, family: &str) -> Claim<'_> {
        let mut state = self.state.lock();
        self.waiting.fetch_add(1, Relaxed);
        while !state.stopping && (state.under_way.len() >= self.slots || state.is_busy(region, family)) {
            self.freed.wait(&mut state);
        }
        self.waiting.fetch_sub(1, Relaxed);
        self.begin(&mut state, region, family)
    }

    /// The family for the upkeep, unless somebody compacts it, there is no slot, or it is left alone. In the first two cases it is to be looked
    /// at again ([`Self::take_look_again`]).
    pub(super) fn try_claim(&self, region: RegionId, family: &str, now: Duration) -> Option<Claim<'_>> {
        let mut state = self.state.lock();
        if state.failing(region, family).is_some_and(|failing| now < failing.until) {
            return None;
        }
        let is_full = state.under_way.len() >= self.slots || self.is_waited_for();
        if is_full || state.is_busy(region, family) {
            state.refused = true;
            return None;
        }
        Some(self.begin(&mut state, region, family))
    }

    fn begin(&self, state: &mut State, region: RegionId, family: &str) -> Claim<'_> {
        let control = Arc::new(Control::default());
        if state.stopping {
            control.cancel();
        }
        let family = family.to_owned();
        state.under_way.push(Entry { region, family, control: Arc::clone(&control) });
        Claim { compacting: self, control }
    }

    /// True while somebody who asked for a compaction waits for one that runs.
    pub(super) fn is_waited_for(&self) -> bool {
        self.waiting.load(Relaxed) > 0
    }

    /// True once after a family or a slot came free that was refused, or a family's time to be left alone is over.
    pub(super) fn take_look_again(&self, now: Duration) -> bool {
        let mut again = self.look_again.load(Relaxed) && self.look_again.swap(false, Relaxed);
        for failing in &mut self.state.lock().failing {
            again |=
                now >= failing.until && !std::mem::replace(&mut failing.is_announced, now >= failing.until);
        }
        again
    }

    /// A compaction of the family failed: the upkeep leaves it alone for a while.
    pub(super) fn failed(&self, region: RegionId, family: &str, error: &Error, now: Duration) {
        let (first, most) = if matches!(error, Error::Corrupt(_)) { RETRY_DAMAGED } else { RETRY };
        let mut state = self.state.lock();
        let times = state.failing(region, family).map_or(0, |failing| failing.times);
        let until = now + (first * (1 << times.min(10))).min(most);
        // Those of regions that are gone are not heard of again.
        state.failing.retain(|failing| {
            let is_it = failing.region == region && failing.family == family;
            !is_it && now < failing.until + 2 * RETRY_DAMAGED.1
        });
        let family = family.to_owned();
        state.failing.push(Failing { region, family, times: times + 1, until, is_announced: false });
    }

    /// The family was compacted, or needed it no more.
    pub(super) fn succeeded(&self, region: RegionId, family: &str) {
        let mut state = self.state.lock();
        state.failing.retain(|failing| failing.region != region || failing.family != family);
    }

    /// True if the last compaction of the family failed.
    pub(super) fn is_failing(&self, region: RegionId, family: &str) -> bool {
        self.state.lock().failing(region, family).is_some()
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
    use std::io;
    use std::thread::{self, yield_now};

    use super::*;
    use crate::Corruption;

    const NOW: Duration = Duration::from_secs(1_000);

    fn try_claim<'a>(compacting: &'a Compacting, region: u64, family: &str) -> Option<Claim<'a>> {
        compacting.try_claim(RegionId(region), family, NOW)
    }

    /// Waits until somebody waits for a compaction.
    fn until_waited_for(compacting: &Compacting) {
        while !compacting.is_waited_for() {
            yield_now();
        }
    }

    #[test]
    fn a_family_is_compacted_by_one_at_a_time_and_several_at_once() {
        let compacting = Compacting::new(3);
        let first = compacting.claim(RegionId(1), "f");
        assert!(try_claim(&compacting, 1, "f").is_none() && !compacting.take_look_again(NOW));
        let others = [try_claim(&compacting, 1, "g"), try_claim(&compacting, 2, "f")];
        assert!(others.iter().all(Option::is_some));
        drop(others);
        assert!(compacting.take_look_again(NOW) && !compacting.take_look_again(NOW));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| compacting.claim(RegionId(1), "f").control().is_cancelled());
            until_waited_for(&compacting);
            // Whoever asked comes first.
            assert!(try_claim(&compacting, 3, "f").is_none());
            drop(first);
            assert!(!waiting.join().expect("nothing panics"));
        });
        assert!(compacting.take_look_again(NOW) && try_claim(&compacting, 1, "f").is_some());
    }

    #[test]
    fn no_more_at_once_than_there_are_slots() {
        let compacting = Compacting::new(2);
        let both = [try_claim(&compacting, 1, "f"), try_claim(&compacting, 2, "f")];
        assert!(try_claim(&compacting, 3, "f").is_none());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(compacting.claim(RegionId(3), "f")));
            until_waited_for(&compacting);
            assert!(!waiting.is_finished());
            drop(both);
        });
        assert!(try_claim(&compacting, 3, "f").is_some());
    }

    #[test]
    fn closing_cancels_what_runs_and_whoever_waits() {
        let compacting = Compacting::default();
        let running = compacting.claim(RegionId(1), "f");
        thread::scope(|scope| {
            let waiting = scope.spawn(|| compacting.claim(RegionId(1), "f").control().is_cancelled());
            until_waited_for(&compacting);
            compacting.stop();
            assert!(waiting.join().expect("nothing panics"));
        });
        assert!(
            running.control().is_cancelled() && compacting.claim(RegionId(2), "f").control().is_cancelled()
        );
    }

    #[test]
    fn a_family_that_fails_is_left_alone_longer_each_time_and_others_are_not() {
        let compacting = Compacting::default();
        let full = Error::io("write", std::path::Path::new("/f"))(io::ErrorKind::StorageFull.into());
        let damaged = Error::Corrupt(Arc::new(Corruption {
            file: "/f".into(),
            offset: 0,
            table: None,
            range: None,
            what: "a checksum".to_owned(),
        }));
        for (error, waits) in [(&full, [1, 2, 4]), (&damaged, [60, 120, 240])] {
            let mut now = NOW;
            for wait in waits.map(Duration::from_secs) {
                compacting.failed(RegionId(1), "f", error, now);
                assert!(compacting.is_failing(RegionId(1), "f") && !compacting.is_failing(RegionId(1), "g"));
                assert!(compacting.try_claim(RegionId(1), "g", now).is_some());
                let before = now + wait - Duration::from_millis(1);
                assert!(compacting.try_claim(RegionId(1), "f", before).is_none());
                assert!(!compacting.take_look_again(before));
                now += wait;
                assert!(compacting.take_look_again(now) && !compacting.take_look_again(now));
                assert!(compacting.try_claim(RegionId(1), "f", now).is_some());
            }
            compacting.succeeded(RegionId(1), "f");
            assert!(!compacting.is_failing(RegionId(1), "f"));
        }
        for _ in 0..20 {
            compacting.failed(RegionId(1), "f", &damaged, NOW);
        }
        assert!(compacting.try_claim(RegionId(1), "f", NOW + RETRY_DAMAGED.1).is_some());
    }
}
