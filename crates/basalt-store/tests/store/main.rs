// SPDX-License-Identifier: Apache-2.0
//! The store from outside: what it promises, tried with a simulated file system.

mod background;
mod basics;
mod faults;
mod model;
mod rot;
mod support;
