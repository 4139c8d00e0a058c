// SPDX-License-Identifier: Apache-2.0
//! A server as a process of its own, which ends with its value.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};

use crate::args::Shared;
use crate::bench::machine::{Memory, memory_of};
use crate::failure::{Failure, Result};

/// How long a server may take to start, and to stop.
const PATIENCE: Duration = Duration::from_secs(180);

pub(super) struct Server {
    process: Child,
    log: PathBuf,
    /// How the client of `RpcBench` finds it.
    pub(super) cluster: String,
}

impl Server {
    /// Basalt: this program.
    pub(super) fn basalt(work: &Path, shared: &Shared) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let (data, ready) = (work.join("basalt"), work.join("basalt.ready"));
        let mut command = Command::new(program);
        command.arg("serve").arg(&data).args(["--port", "0", "--quiet", "--ready-file"]).arg(&ready);
        if let Some(threads) = shared.threads {
            command.args(["--threads", &threads.to_string()]);
        }
        Self::start(command, "rpc", &ready, work.join("basalt.log"))
    }

    /// HBase, from Maven's repository.
    pub(super) fn hbase(work: &Path, script: &Path, heap: &str) -> Result<Self> {
        let (data, ready) = (work.join("hbase"), work.join("hbase.ready"));
        let mut command = Command::new(script);
        command.env("JAVA_HEAP", heap).arg("RealServer").arg(&data).arg(&ready);
        Self::start(command, "zk", &ready, work.join("hbase.log"))
    }

    fn start(mut command: Command, registry: &str, ready: &Path, log: PathBuf) -> Result<Self> {
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let again = file.try_clone().context("cannot share a file")?;
        command.stdin(Stdio::null()).stdout(file).stderr(again);
        let process = command.spawn().context("cannot start the server")?;
        let mut server = Self { process, log, cluster: String::new() };
        let until = Instant::now() + PATIENCE;
        loop {
            let address = fs::read_to_string(ready).unwrap_or_default();
            if address.ends_with('\n') {
                server.cluster = format!("{registry}:{}", address.trim());
                return Ok(server);
            }
            if let Ok(Some(status)) = server.process.try_wait() {
                let what = anyhow!("the server ended with {status}; {}", server.log_hint());
                return Err(Failure::input(what));
            }
            if Instant::now() > until {
                let what = anyhow!("the server was not ready after {PATIENCE:?}; {}", server.log_hint());
                return Err(Failure::input(what));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The last lines that the server wrote.
    pub(super) fn log_hint(&self) -> String {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let last = lines[lines.len().saturating_sub(10)..].join("\n");
        format!("the end of its log:\n{last}")
    }

    /// Its memory now and at most, where the system says.
    pub(super) fn memory(&self) -> Option<Memory> {
        memory_of(self.process.id())
    }

    /// Asks it to end, and waits.
    pub(super) fn stop(mut self) -> Result<()> {
        let process = self.process.id().to_string();
        Command::new("kill").arg(&process).status().context("cannot run kill")?;
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            if self.process.try_wait().context("cannot wait for the server")?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
