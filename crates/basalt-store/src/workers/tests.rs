// SPDX-License-Identifier: Apache-2.0
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::Workers;
use crate::env::Env;

#[test]
fn every_job_is_done_once_whatever_the_number_of_threads() {
    for threads in [0, 1, 4] {
        let workers = Workers::new(Env::local(), threads);
        let done = Arc::new(AtomicUsize::new(0));
        let job = |i: usize| {
            let done = Arc::clone(&done);
            workers.run(move || {
                done.fetch_add(1, Relaxed);
                i * i
            })
        };
        let answers: Vec<_> = (0..1_000).map(job).collect();
        for (i, answer) in answers.iter().enumerate().rev() {
            assert_eq!(workers.wait(answer), i * i, "{threads} threads");
        }
        assert_eq!(done.load(Relaxed), 1_000, "{threads} threads");
    }
}

#[test]
fn jobs_that_nobody_began_are_forgotten_with_the_workers() {
    let done = Arc::new(AtomicUsize::new(0));
    let workers = Workers::new(Env::local(), 0);
    let inside = Arc::clone(&done);
    let answer = workers.run(move || inside.fetch_add(1, Relaxed));
    drop(workers);
    assert_eq!(done.load(Relaxed), 0);
    drop(answer);
}
