// SPDX-License-Identifier: Apache-2.0
//! `basalt check`: verifies a database and reports; changes nothing.
//!
//! Findings go to stdout, damage first word `damage`, what the next opening cleans up by itself `note`. Exit code 3 if
//! there is any damage.

use std::io::Write;

use anyhow::anyhow;
use basalt::{CheckReport, Finding, Severity};
use serde_json::{Value, json};

use crate::args::{CheckArgs, ReportFormat, Shared};
use crate::failure::{Failure, Result};
use crate::output::grouped;
use crate::progress::size;

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, shared: &Shared) -> Result<()> {
    let mut findings = Vec::new();
    let mut printed = Ok(());
    let report = basalt::check(&args.db, &mut |finding| {
        if args.format == ReportFormat::Text && printed.is_ok() {
            printed = writeln!(std::io::stdout(), "{}: {finding}", severity(&finding));
        }
        findings.push(finding);
    })
    .map_err(Failure::database)?;
    printed?;
    match args.format {
        ReportFormat::Json => writeln!(std::io::stdout(), "{:#}", as_json(&report, &findings))?,
        ReportFormat::Text if !shared.quiet => writeln!(std::io::stdout(), "{}", summary(&report))?,
        ReportFormat::Text => {}
    }
    match report.damages {
        0 => Ok(()),
        damages => Err(Failure::database(anyhow!(
            "{} is damaged in {} place{}",
            args.db.display(),
            grouped(damages),
            if damages == 1 { "" } else { "s" }
        ))),
    }
}

fn severity(finding: &Finding) -> &'static str {
    match finding.severity {
        Severity::Note => "note",
        Severity::Damage => "damage",
    }
}

fn summary(report: &CheckReport) -> String {
    let outcome = if report.damages == 0 { "sound" } else { "damaged" };
    format!(
        "{outcome}: {} tables, {} store files with {} cells ({}), {} log segments with {} frames, {} manifests; {} damaged, {} notes",
        grouped(report.tables),
        grouped(report.files),
        grouped(report.cells),
        size(report.file_bytes),
        grouped(report.wal_segments),
        grouped(report.wal_frames),
        grouped(report.manifests),
        grouped(report.damages),
        grouped(report.notes)
    )
}

fn as_json(report: &CheckReport, findings: &[Finding]) -> Value {
    let findings: Vec<Value> = findings
        .iter()
        .map(|finding| {
            json!({
                "severity": severity(finding),
                "file": finding.file.display().to_string(),
                "offset": finding.offset,
                "table": finding.table,
                "what": finding.what,
                "message": finding.to_string(),
            })
        })
        .collect();
    json!({
        "sound": report.damages == 0,
        "manifests": report.manifests,
        "tables": report.tables,
        "snapshots": report.snapshots,
        "wal_segments": report.wal_segments,
        "wal_frames": report.wal_frames,
        "files": report.files,
        "file_bytes": report.file_bytes,
        "cells": report.cells,
        "damages": report.damages,
        "notes": report.notes,
        "findings": findings,
    })
}
