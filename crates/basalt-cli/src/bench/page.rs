// SPDX-License-Identifier: Apache-2.0
//! Pages of figures that a workload writes anew, and people write on.

use std::fs;
use std::path::Path;

use anyhow::Context;

use crate::failure::Result;

/// A picture beside a page.
pub(super) struct Plot {
    pub(super) title: &'static str,
    /// What its file is called behind the name of the page.
    pub(super) ending: &'static str,
    /// As SVG.
    pub(super) picture: String,
}

/// Writes a page with its plots beside it. What the page had below its first `## ` stays.
pub(super) fn write_page(path: &Path, mut text: String, plots: &[Plot]) -> Result<()> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for Plot { title, ending, picture } in plots {
        let name = format!("{name}{ending}.svg");
        text.push_str(&format!("\n![{title}]({name})\n"));
        let file = path.with_file_name(name);
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
        let plots = [("Rates", "", "<svg/>"), ("Sizes", "-sizes", "<svg></svg>")];
        let plots = plots.map(|(title, ending, picture)| Plot { title, ending, picture: picture.into() });
        write_page(&path, "# New\n".into(), &plots).expect("writes");
        let text = fs::read_to_string(&path).expect("reads");
        assert_eq!(text, "# New\n\n![Rates](page.svg)\n\n![Sizes](page-sizes.svg)\n\n## Why\n\nText.\n");
        assert_eq!(fs::read_to_string(dir.path().join("page.svg")).expect("reads"), "<svg/>");
        assert_eq!(fs::read_to_string(dir.path().join("page-sizes.svg")).expect("reads"), "<svg></svg>");
    }
}
