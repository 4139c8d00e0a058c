// SPDX-License-Identifier: Apache-2.0
//! Checks the database from outside: recorded answers of real HBase and Phoenix are replayed against it. Never
//! published.

pub mod replay;
pub mod sql;
