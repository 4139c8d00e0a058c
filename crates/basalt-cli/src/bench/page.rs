// SPDX-License-Identifier: Apache-2.0
//! Pages of figures that a workload writes anew, and people write on.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::failure::Result;

/// Writes a page with its plot beside it. What the page had below its first `## ` stays.
pub(super) fn write_page(path: &Path, mut text: String, plot: Option<(&str, String)>) -> Result<()> {
    if let Some((title, picture)) = plot {
        let file = path.with_extension("svg");
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        text.push_str(&format!("\n![{title}]({name})\n"));
        fs::write(&file, picture).with_context(|| format!("cannot write {}", file.display()))?;
    }
    text.push_str(&kept(path));
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// What people wrote below the figures.
fn kept(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.find("\n## ").map_or(String::new(), |at| text[at..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_wrote_stays_and_the_rest_is_new() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("page.md");
        fs::write(&path, "# Title\n\n| table |\n\n## Why\n\nText.\n").expect("writes");
        write_page(&path, "# New\n".into(), Some(("Rates", "<svg/>".into()))).expect("writes");
        let text = fs::read_to_string(&path).expect("reads");
        assert_eq!(text, "# New\n\n![Rates](page.svg)\n\n## Why\n\nText.\n");
        assert_eq!(fs::read_to_string(dir.path().join("page.svg")).expect("reads"), "<svg/>");
    }
}
