// SPDX-License-Identifier: Apache-2.0
//! Switches. Those of splits and merges are obeyed when a client asks for one; the others are of things that one server does not
//! do: balancing, normalising, cleaning up after others. All remember how they were set as long as the server runs.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use basalt_wire::{Exception, pb};

use crate::call::{Incoming, Reply};
use crate::node::Node;

/// How the switches stand.
pub(crate) struct Switches {
    balancer: AtomicBool,
    normalizer: AtomicBool,
    janitor: AtomicBool,
    cleaner: AtomicBool,
    snapshot_cleanup: AtomicBool,
    split: AtomicBool,
    merge: AtomicBool,
}

impl Default for Switches {
    fn default() -> Self {
        let on = || AtomicBool::new(true);
        Self {
            balancer: on(),
            normalizer: on(),
            janitor: on(),
            cleaner: on(),
            snapshot_cleanup: on(),
            split: on(),
            merge: on(),
        }
    }
}

impl Switches {
    pub(super) fn balancer_is_on(&self) -> bool {
        self.balancer.load(SeqCst)
    }

    pub(super) fn splits_are_on(&self) -> bool {
        self.split.load(SeqCst)
    }

    pub(super) fn merges_are_on(&self) -> bool {
        self.merge.load(SeqCst)
    }

    fn of_regions(&self, number: i32) -> &AtomicBool {
        match pb::MasterSwitchType::try_from(number) {
            Ok(pb::MasterSwitchType::Merge) => &self.merge,
            _ => &self.split,
        }
    }
}

/// The answer of a method; `None` if there is no such method.
pub(super) fn call(node: &Node, method: &str, incoming: &Incoming) -> Option<Result<Reply, Exception>> {
    let switches = &node.switches;
    Some(match method {
        "Balance" => Reply::of(&pb::BalanceResponse {
            balancer_ran: true,
            moves_calculated: Some(0),
            moves_executed: Some(0),
        }),
        "SetBalancerRunning" => set_balancer(switches, incoming),
        "IsBalancerEnabled" => {
            Reply::of(&pb::IsBalancerEnabledResponse { enabled: switches.balancer_is_on() })
        }
        "Normalize" => Reply::of(&pb::NormalizeResponse { normalizer_ran: true }),
        "SetNormalizerRunning" => set_normalizer(switches, incoming),
        "IsNormalizerEnabled" => {
            Reply::of(&pb::IsNormalizerEnabledResponse { enabled: switches.normalizer.load(SeqCst) })
        }
        "RunCatalogScan" => Reply::of(&pb::RunCatalogScanResponse { scan_result: Some(0) }),
        "EnableCatalogJanitor" => enable_janitor(switches, incoming),
        "IsCatalogJanitorEnabled" => {
            Reply::of(&pb::IsCatalogJanitorEnabledResponse { value: switches.janitor.load(SeqCst) })
        }
        "RunCleanerChore" => Reply::of(&pb::RunCleanerChoreResponse { cleaner_chore_ran: true }),
        "SetCleanerChoreRunning" => set_cleaner(switches, incoming),
        "IsCleanerChoreEnabled" => {
            Reply::of(&pb::IsCleanerChoreEnabledResponse { value: switches.cleaner.load(SeqCst) })
        }
        "SwitchSnapshotCleanup" => set_snapshot_cleanup(switches, incoming),
        "IsSnapshotCleanupEnabled" => Reply::of(&pb::IsSnapshotCleanupEnabledResponse {
            enabled: switches.snapshot_cleanup.load(SeqCst),
        }),
        "SetSplitOrMergeEnabled" => set_split_or_merge(switches, incoming),
        "IsSplitOrMergeEnabled" => is_split_or_merge(switches, incoming),
        _ => return None,
    })
}

fn set_balancer(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SetBalancerRunningRequest = incoming.decode()?;
    let before = switches.balancer.swap(request.on, SeqCst);
    Reply::of(&pb::SetBalancerRunningResponse { prev_balance_value: Some(before) })
}

fn set_normalizer(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SetNormalizerRunningRequest = incoming.decode()?;
    let before = switches.normalizer.swap(request.on, SeqCst);
    Reply::of(&pb::SetNormalizerRunningResponse { prev_normalizer_value: Some(before) })
}

fn enable_janitor(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::EnableCatalogJanitorRequest = incoming.decode()?;
    let before = switches.janitor.swap(request.enable, SeqCst);
    Reply::of(&pb::EnableCatalogJanitorResponse { prev_value: Some(before) })
}

fn set_cleaner(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SetCleanerChoreRunningRequest = incoming.decode()?;
    let before = switches.cleaner.swap(request.on, SeqCst);
    Reply::of(&pb::SetCleanerChoreRunningResponse { prev_value: Some(before) })
}

fn set_snapshot_cleanup(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SetSnapshotCleanupRequest = incoming.decode()?;
    let before = switches.snapshot_cleanup.swap(request.enabled, SeqCst);
    Reply::of(&pb::SetSnapshotCleanupResponse { prev_snapshot_cleanup: before })
}

fn set_split_or_merge(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::SetSplitOrMergeEnabledRequest = incoming.decode()?;
    let set = |number: &i32| switches.of_regions(*number).swap(request.enabled, SeqCst);
    Reply::of(&pb::SetSplitOrMergeEnabledResponse {
        prev_value: request.switch_types.iter().map(set).collect(),
    })
}

fn is_split_or_merge(switches: &Switches, incoming: &Incoming) -> Result<Reply, Exception> {
    let request: pb::IsSplitOrMergeEnabledRequest = incoming.decode()?;
    let enabled = switches.of_regions(request.switch_type).load(SeqCst);
    Reply::of(&pb::IsSplitOrMergeEnabledResponse { enabled })
}
