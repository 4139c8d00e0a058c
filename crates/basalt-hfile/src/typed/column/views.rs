// SPDX-License-Identifier: Apache-2.0
//! View arrays of texts that are known to be UTF-8: those of up to twelve bytes lie in their view, longer ones in a buffer.
//!
//! Arrow looks at every text of a view array when it is made, which is a quarter of the time that reading a column of texts takes. Here that
//! is left away, since nothing but UTF-8 comes in: texts, vectors of strings that were looked at as a whole ([`Utf8Strings`]), and entries
//! of other arrays.
#![allow(unsafe_code)]

use arrow::array::StringViewArray;
use arrow::array::builder::make_view;
use arrow::buffer::{Buffer, NullBuffer};
use arrow::error::ArrowError;

use super::taken;
use crate::columnar::Utf8Strings;

/// Longest text that a view holds.
pub(super) const INLINE_MAX: usize = 12;
/// Bytes of copied texts in one buffer, about.
const OPEN_BYTES_MAX: usize = 1 << 20;

/// Views under construction. Each is of a text that is UTF-8: in itself, in one of the buffers, or in `open`, which becomes the next one.
#[derive(Debug, Default)]
pub(super) struct Views {
    views: Vec<u128>,
    buffers: Vec<Buffer>,
    /// Copied texts.
    open: Vec<u8>,
}

/// How the strings of a vector become texts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// They stay where they are, in a buffer that becomes one of the array's; else they are copied.
    pub(super) shares: bool,
    /// Without the blanks at their ends.
    pub(super) trims: bool,
}

impl Views {
    pub(super) fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    pub(super) fn reserve(&mut self, texts: usize) {
        self.views.reserve(texts);
    }

    /// Appends a copy of a text.
    #[inline]
    pub(super) fn push(&mut self, text: &str) {
        self.push_copy(text.as_bytes());
    }

    /// Appends some strings of a vector by their places, an empty text for `None`.
    pub(super) fn extend(
        &mut self,
        strings: Utf8Strings<'_>,
        manner: Manner,
        places: impl Iterator<Item = Option<usize>>,
    ) {
        let block = manner.shares.then(|| {
            self.close();
            self.buffers.push(Buffer::from(strings.bytes().clone()));
            self.buffers.len() as u32 - 1
        });
        for place in places {
            let Some(at) = place else {
                self.views.push(0);
                continue;
            };
            let string = strings.get(at);
            // A blank is one byte and part of no other character.
            let text = if manner.trims { string.trim_suffix_blanks() } else { string };
            match block {
                Some(block) => self.views.push(make_view(text, block, strings.start(at))),
                None => self.push_copy(text),
            }
        }
    }

    /// Appends entries of an array by their numbers, which there must be.
    pub(super) fn extend_from(&mut self, entries: &StringViewArray, numbers: impl Iterator<Item = u32>) {
        let views = entries.views();
        let is_long = |view: u128| view as u32 as usize > INLINE_MAX;
        if !views.iter().any(|&view| is_long(view)) {
            self.views.extend(numbers.map(|number| views[number as usize]));
            return;
        }
        self.close();
        // The number of the buffer lies behind length and prefix.
        let before = (self.buffers.len() as u128) << 64;
        self.buffers.extend(entries.data_buffers().iter().cloned());
        let moved = |view: u128| if is_long(view) { view + before } else { view };
        self.views.extend(numbers.map(|number| moved(views[number as usize])));
    }

    /// The array; nothing is left.
    ///
    /// # Errors
    /// If the nulls are not as many as the texts.
    pub(super) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<StringViewArray, ArrowError> {
        self.close();
        let (views, buffers) = (taken(&mut self.views), std::mem::take(&mut self.buffers));
        if nulls.as_ref().is_some_and(|nulls| nulls.len() != views.len()) {
            return StringViewArray::try_new(views.into(), buffers, nulls);
        }
        // SAFETY: `new_unchecked` asks for views that lie in their buffers and are UTF-8, and nulls for each. `push` and `extend` make a view of a text
        // (a `str`, or a string of `Utf8Strings`, whole or without blanks at its end) with `make_view`, which keeps short ones whole; of a long one it is told
        // the place where the same bytes lie: in `open`, where they were just put and which becomes the buffer of that number (it is closed before
        // any other buffer is added), or in the vector's bytes, which were just added as the buffer of that number, at the offset from which
        // `Utf8Strings` itself takes them. `extend_from` takes views of a sound array, whose buffers follow those before, as their numbers do. An
        // empty text is 0. Buffers are never changed or taken away before this, and nulls were counted above.
        Ok(unsafe { StringViewArray::new_unchecked(views.into(), buffers, nulls) })
    }

    /// Appends a copy of a text, which is UTF-8.
    #[inline]
    fn push_copy(&mut self, text: &[u8]) {
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

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.buffers.push(Buffer::from_vec(std::mem::take(&mut self.open)));
        }
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::columnar::Strings;

    /// What a step appends.
    #[derive(Debug, Clone)]
    enum Step {
        Copy(String),
        Strings(Vec<String>, Manner, Vec<Option<prop::sample::Index>>),
        Entries(Vec<String>, Vec<prop::sample::Index>),
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof!["[a-zü ]{0,14}", "[a-z]{0,30} {0,3}", "\\PC{0,20}"]
    }

    fn step() -> impl Strategy<Value = Step> {
        let places = vec(proptest::option::weighted(0.9, any::<prop::sample::Index>()), 0..20);
        let manner = (any::<bool>(), any::<bool>()).prop_map(|(shares, trims)| Manner { shares, trims });
        prop_oneof![
            text().prop_map(Step::Copy),
            Just(Step::Copy("x".repeat(OPEN_BYTES_MAX))),
            (vec(text(), 1..20), manner, places)
                .prop_map(|(texts, manner, at)| Step::Strings(texts, manner, at)),
            (vec(text(), 1..20), vec(any::<prop::sample::Index>(), 0..20))
                .prop_map(|(texts, at)| Step::Entries(texts, at)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..Default::default() })]

        #[test]
        fn arrays_are_sound_and_have_the_texts(steps in vec(step(), 0..8)) {
            let (mut views, mut expected) = (Views::default(), Vec::<String>::new());
            for step in steps {
                match step {
                    Step::Copy(text) => {
                        views.push(&text);
                        expected.push(text);
                    }
                    Step::Strings(texts, manner, at) => {
                        let strings = Strings::of(&texts);
                        let places: Vec<_> = at.iter().map(|at| at.map(|at| at.index(texts.len()))).collect();
                        views.extend(strings.utf8().unwrap(), manner, places.iter().copied());
                        let shown = |text: &String| match manner.trims {
                            true => text.trim_end_matches(' ').to_owned(),
                            false => text.clone(),
                        };
                        expected.extend(places.iter().map(|at| at.map_or(String::new(), |at| shown(&texts[at]))));
                    }
                    Step::Entries(texts, at) => {
                        let entries = StringViewArray::from_iter_values(&texts);
                        let numbers: Vec<u32> = at.iter().map(|at| at.index(texts.len()) as u32).collect();
                        views.extend_from(&entries, numbers.iter().copied());
                        expected.extend(numbers.iter().map(|at| texts[*at as usize].clone()));
                    }
                }
            }
            let array = views.finish(None).unwrap();
            let looked_at = StringViewArray::try_new(array.views().clone(), array.data_buffers().to_vec(), None);
            prop_assert!(looked_at.is_ok(), "{looked_at:?}");
            prop_assert_eq!(array, StringViewArray::from_iter_values(expected));
            views.push("x");
            prop_assert!(views.finish(Some(NullBuffer::new_null(2))).is_err());
        }
    }
}
