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
use bytes::Bytes;

use super::taken;
use crate::columnar::Dictionary;

/// Longest text that a view holds.
pub(super) const INLINE_MAX: usize = 12;
/// Bytes of copied texts in one buffer, about.
const OPEN_BYTES_MAX: usize = 1 << 20;

/// An array of texts under construction.
#[derive(Debug, Default)]
pub(super) struct Texts {
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// Copied texts, in what becomes the next buffer.
    open: Vec<u8>,
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

/// A text without the blanks at its end.
pub(super) trait Blanks {
    fn trim_suffix_blanks(&self) -> &Self;
}

impl Blanks for [u8] {
    fn trim_suffix_blanks(&self) -> &Self {
        let blanks = self.iter().rev().take_while(|&&byte| byte == b' ').count();
        &self[..self.len() - blanks]
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
            self.show_codes();
            self.coded = Some(coded);
        }
        let coded = self.coded.as_mut().expect("set above");
        if self.keeps_codes && self.views.is_empty() {
            coded.codes.extend(codes);
            return true;
        }
        let entries = Arc::clone(&coded.entries);
        self.push_entries(&entries, codes);
        true
    }

    /// Makes views of the texts that are known by their numbers.
    fn show_codes(&mut self) {
        let Some(coded) = self.coded.as_mut().filter(|coded| !coded.codes.is_empty()) else { return };
        let (entries, codes) = (Arc::clone(&coded.entries), std::mem::take(&mut coded.codes));
        self.push_entries(&entries, codes.into_iter());
    }

    fn push_entries(&mut self, entries: &StringViewArray, codes: impl Iterator<Item = u32>) {
        let views = entries.views();
        let has_long = views.iter().any(|&view| view as u32 as usize > INLINE_MAX);
        if !has_long {
            self.views.extend(codes.map(|code| views[code as usize]));
            return;
        }
        self.close();
        // The number of the buffer lies behind length and prefix.
        let block = (self.buffers.len() as u128) << 64;
        self.buffers.extend(entries.data_buffers().iter().cloned());
        let is_long = |view: u128| view as u32 as usize > INLINE_MAX;
        let moved = |view: u128| if is_long(view) { view | block } else { view };
        self.views.extend(codes.map(|code| moved(views[code as usize])));
    }

    /// Before texts are appended otherwise than by [`Self::push_codes`].
    pub(super) fn reserve(&mut self, texts: usize) {
        self.show_codes();
        self.views.reserve(texts);
    }

    /// Appends a copy of a text, which must be UTF-8: [`Self::finish`] looks again.
    #[inline]
    pub(super) fn push(&mut self, text: &[u8]) {
        let (mut block, mut offset) = (0, 0);
        if text.len() > INLINE_MAX {
            (block, offset) = (self.buffers.len() as u32, self.open.len() as u32);
            self.open.extend_from_slice(text);
        }
        self.views.push(make_view(text, block, offset));
        if self.open.len() > OPEN_BYTES_MAX {
            self.close();
        }
    }

    /// Appends a view of a text that lies at `offset` in a buffer that [`Self::share`] took.
    #[inline]
    pub(super) fn push_shared(&mut self, text: &[u8], block: u32, offset: u32) {
        self.views.push(make_view(text, block, offset));
    }

    /// Takes a buffer in, without copying it; its number.
    pub(super) fn share(&mut self, bytes: &Bytes) -> u32 {
        self.close();
        self.buffers.push(Buffer::from(bytes.clone()));
        self.buffers.len() as u32 - 1
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.buffers.push(Buffer::from_vec(std::mem::take(&mut self.open)));
        }
    }

    /// The array of all texts; the builder is empty afterwards.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        if let Some(coded) = self.coded.as_mut().filter(|coded| !coded.codes.is_empty()) {
            let codes = UInt32Array::try_new(taken(&mut coded.codes).into(), nulls)?;
            let entries = Arc::clone(&coded.entries);
            return Ok(Arc::new(DictionaryArray::try_new(codes, entries)?));
        }
        self.close();
        let (views, buffers) = (taken(&mut self.views), std::mem::take(&mut self.buffers));
        Ok(Arc::new(StringViewArray::try_new(views.into(), buffers, nulls)?))
    }
}
