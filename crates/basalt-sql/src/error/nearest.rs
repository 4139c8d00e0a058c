// SPDX-License-Identifier: Apache-2.0
//! "Did you mean": the known name closest to one that is not known.

/// The candidate nearest to `name`, if it is near enough to be a slip. Case does not count. What has that very name is something else that cannot be
/// meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted = name.to_lowercase();
    let edits_max = (wanted.chars().count() / 3).clamp(1, 4);
    candidates
        .into_iter()
        .filter(|candidate| *candidate != name)
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &candidate.to_lowercase()), candidate))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, candidate)| candidate.to_owned())
}
