// SPDX-License-Identifier: Apache-2.0
//! Texts on their way into a view array: those of up to twelve bytes lie in their view, longer ones stay in the buffer of
//! the vector that they were decoded to, unless few of them are wanted.

use std::sync::Arc;

use arrow::array::builder::make_view;
use arrow::array::{ArrayRef, StringViewArray};
use arrow::buffer::{Buffer, NullBuffer};
use arrow::error::ArrowError;
use bytes::Bytes;

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
}

impl Texts {
    pub(super) fn reserve(&mut self, texts: usize) {
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
        self.close();
        let (views, buffers) = (std::mem::take(&mut self.views), std::mem::take(&mut self.buffers));
        Ok(Arc::new(StringViewArray::try_new(views.into(), buffers, nulls)?))
    }
}
