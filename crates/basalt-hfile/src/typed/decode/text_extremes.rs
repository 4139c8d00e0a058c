// SPDX-License-Identifier: Apache-2.0
//! The least and the greatest of many texts, of most of which only the first bytes are looked at: those that row groups and vectors
//! keep of their own least and greatest.

use crate::columnar::TextBound;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(super) struct TextExtremes {
    least: Option<Vec<u8>>,
    most: Option<Vec<u8>>,
}

impl TextExtremes {
    pub(super) fn least(&self) -> Option<&[u8]> {
        self.least.as_deref()
    }

    pub(super) fn most(&self) -> Option<&[u8]> {
        self.most.as_deref()
    }

    pub(super) fn add(&mut self, text: &[u8]) {
        self.add_least(text);
        self.add_most(text);
    }

    /// Takes texts into account that lie between two bounds, and of which some are what the bounds are of; false, and nothing done,
    /// if they must be looked at.
    pub(super) fn answer(&mut self, min: &TextBound, max: &TextBound) -> bool {
        let is_above = self.least().is_some_and(|least| least <= min.prefix());
        let is_below = self.most().is_some_and(|most| most > max.prefix() && !most.starts_with(max.prefix()));
        if !(is_above || min.is_whole()) || !(is_below || max.is_whole()) {
            return false;
        }
        if !is_above {
            self.add_least(min.prefix());
        }
        if !is_below {
            self.add_most(max.prefix());
        }
        true
    }

    fn add_least(&mut self, text: &[u8]) {
        if self.least().is_none_or(|least| text < least) {
            self.least = Some(text.to_vec());
        }
    }

    fn add_most(&mut self, text: &[u8]) {
        if self.most().is_none_or(|most| text > most) {
            self.most = Some(text.to_vec());
        }
    }
}
