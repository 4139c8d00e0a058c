// SPDX-License-Identifier: Apache-2.0
//! Threads that help one caller with a heap of jobs: those of a log being replayed.
//!
//! A thread starts only when two jobs wait, so that a little work starts none; the caller does jobs itself while it
//! waits for an answer, so that everything gets done without a single thread. Jobs touch no storage: what happens to
//! files happens in the caller's order, whoever does the jobs.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use parking_lot::{Condvar, Mutex};

use crate::env::{Env, Task};

/// Threads that one caller, who reads one file after the other, keeps busy.
const THREADS_MAX: usize = 8;

type Job = Box<dyn FnOnce() + Send>;

/// Jobs that nobody has begun, and the threads that wait for one.
#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    closing: bool,
}

/// See the module. Dropping it waits for the jobs that were begun and forgets the others.
pub(crate) struct Workers {
    env: Env,
    queue: Arc<Queue>,
    threads_max: usize,
    threads: Mutex<Vec<Box<dyn Task>>>,
}

/// The answer of a job, once there is one.
#[derive(Debug)]
pub(crate) struct Answer<T>(Receiver<T>);

impl Workers {
    /// As many threads as there are cores, the caller's among them, up to [`THREADS_MAX`].
    pub(crate) fn on_all_cores(env: Env) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::new(env, cores.min(THREADS_MAX) - 1)
    }

    /// Up to `threads_max` threads beside the caller's.
    pub(crate) fn new(env: Env, threads_max: usize) -> Self {
        Self { env, queue: Arc::default(), threads_max, threads: Mutex::default() }
    }

    /// Jobs that should be under way at once to keep everybody busy.
    pub(crate) fn depth(&self) -> usize {
        2 * self.threads_max + 1
    }

    /// Has a job done by somebody; begun in the order in which they are given.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Answer<T> {
        let (sender, receiver) = sync_channel(1);
        let job = Box::new(move || {
            // A caller that does not want the answer any more has gone on without it.
            let _ = sender.send(job());
        });
        let waiting = {
            let mut state = self.queue.state.lock();
            state.waiting.push_back(job);
            state.waiting.len()
        };
        if waiting > 1 {
            self.start_thread();
        }
        self.queue.wake.notify_one();
        Answer(receiver)
    }

    /// The answer; meanwhile the caller does other jobs that wait.
    ///
    /// # Panics
    ///
    /// If the job did.
    pub(crate) fn wait<T>(&self, answer: &Answer<T>) -> T {
        loop {
            match answer.0.try_recv() {
                Ok(found) => return found,
                Err(TryRecvError::Disconnected) => panic!("a job of the store panicked"),
                Err(TryRecvError::Empty) => {}
            }
            let job = self.queue.state.lock().waiting.pop_front();
            match job {
                Some(job) => job(),
                None => return answer.0.recv().expect("a job of the store panicked"),
            }
        }
    }

    /// One more, unless there are enough. Without it the caller does what it would have done.
    fn start_thread(&self) {
        let mut threads = self.threads.lock();
        if threads.len() < self.threads_max {
            let queue = Arc::clone(&self.queue);
            threads.extend(self.env.spawner.spawn("basalt-replay", Box::new(move || work(&queue))));
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        state.closing = true;
        state.waiting.clear();
        drop(state);
        self.queue.wake.notify_all();
        let threads = std::mem::take(&mut *self.threads.lock());
        threads.into_iter().for_each(|thread| thread.join());
    }
}

fn work(queue: &Queue) {
    loop {
        let mut state = queue.state.lock();
        let job = loop {
            if state.closing {
                return;
            }
            match state.waiting.pop_front() {
                Some(job) => break job,
                None => queue.wake.wait(&mut state),
            }
        };
        drop(state);
        job();
    }
}

#[cfg(test)]
mod tests;
