// SPDX-License-Identifier: Apache-2.0
//! Texts on their way into a view array: those of up to twelve bytes lie in their view, longer ones stay in the buffer of
//! the vector that they were decoded to, unless few of them are wanted. Texts of a dictionary are looked at once, when the
//! dictionary is met; who can use it gets the dictionary itself, as long as all texts of a batch come from one.

use std::sync::Arc;

use arrow::array::builder::make_view;
use arrow::array::{ArrayRef, DictionaryArray, StringViewArray, UInt32Array};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::error::ArrowError;
use basalt_model::SqlType;

use super::taken;
use super::views::{Blanks, Views};
use crate::columnar::Dictionary;

/// An array of texts under construction.
#[derive(Debug, Default)]
pub(super) struct Texts {
    views: Views,
    coded: Option<Coded>,
    /// Texts may become a dictionary array.
    keeps_codes: bool,
}

/// Texts by their numbers in a dictionary.
#[derive(Debug)]
struct Coded {
    dictionary: Arc<Dictionary>,
    /// The texts of the dictionary, long ones in a buffer that is the dictionary's.
    entries: Arc<StringViewArray>,
    /// All texts of the batch, if there are any.
    codes: Vec<u32>,
}

impl Coded {
    /// `None` if an entry is no text of the type.
    fn try_new(dictionary: &Arc<Dictionary>, sql_type: SqlType) -> Option<Self> {
        let strings = dictionary.strings();
        let width = sql_type.fixed_width();
        let is_text =
            |text: &[u8]| width.is_none_or(|width| text.len() == width) && std::str::from_utf8(text).is_ok();
        let views = (0..strings.len()).map(|entry| {
            let text = strings.get(entry);
            let shown = if width.is_some() { text.trim_suffix_blanks() } else { text };
            is_text(text).then(|| make_view(shown, 0, strings.start(entry)))
        });
        let views = views.collect::<Option<Vec<u128>>>()?;
        let buffers = vec![Buffer::from(strings.bytes().clone())];
        let entries = StringViewArray::try_new(views.into(), buffers, None).ok()?;
        Some(Self { dictionary: Arc::clone(dictionary), entries: Arc::new(entries), codes: Vec::new() })
    }
}

impl Texts {
    /// An array that becomes one of a dictionary, if all texts come from one.
    pub(super) fn keeping_codes() -> Self {
        Self { keeps_codes: true, ..Self::default() }
    }

    /// Appends texts by their numbers in a dictionary, any number for NULL; false, and nothing done, if an entry of the
    /// dictionary is no text of the type.
    pub(super) fn push_codes(
        &mut self,
        dictionary: &Arc<Dictionary>,
        codes: impl Iterator<Item = u32>,
        sql_type: SqlType,
    ) -> bool {
        let known = self.coded.as_ref().is_some_and(|coded| Arc::ptr_eq(&coded.dictionary, dictionary));
        if !known {
            let Some(coded) = Coded::try_new(dictionary, sql_type) else { return false };
            self.views();
            self.coded = Some(coded);
        }
        let coded = self.coded.as_mut().expect("set above");
        if self.keeps_codes && self.views.is_empty() {
            coded.codes.extend(codes);
            return true;
        }
        self.views.extend_from(&coded.entries, codes);
        true
    }

    /// The views, to which those of the texts that are known by their numbers were added.
    pub(super) fn views(&mut self) -> &mut Views {
        if let Some(coded) = self.coded.as_mut().filter(|coded| !coded.codes.is_empty()) {
            self.views.extend_from(&coded.entries, std::mem::take(&mut coded.codes).into_iter());
        }
        &mut self.views
    }

    /// The array of all texts; the builder is empty afterwards.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        if let Some(coded) = self.coded.as_mut().filter(|coded| !coded.codes.is_empty()) {
            let codes = UInt32Array::try_new(taken(&mut coded.codes).into(), nulls)?;
            let entries = Arc::clone(&coded.entries);
            return Ok(Arc::new(DictionaryArray::try_new(codes, entries)?));
        }
        Ok(Arc::new(self.views.finish(nulls)?))
    }
}
