// SPDX-License-Identifier: Apache-2.0
//! The store from outside: what it promises, tried with a simulated file system.
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod background;
mod basics;
mod by_sequence;
mod cells;
mod closing;
mod crashes;
mod faults;
mod favoured;
mod golden;
mod history;
mod indexes;
mod left_out;
mod model;
mod queries;
mod recorded;
mod regions;
mod replay;
mod rot;
mod second_tier;
mod side_by_side;
mod snapshots;
mod support;
