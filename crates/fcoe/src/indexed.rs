//! Tables whose entries are found by an index of their own type, so that the index of one table is not valid for
//! another.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// An index of one table.
pub(crate) trait TableIndex: Copy + From<u16> {
    /// Number of the index, from 0.
    fn number(self) -> usize;
}

/// Entries found by indices of type `I`; at most 65535.
#[derive(Debug)]
pub(crate) struct Indexed<I, T> {
    entries: Vec<T>,
    count: u16,
    index: PhantomData<fn(I)>,
}

impl<I: TableIndex, T> Indexed<I, T> {
    pub(crate) const fn new() -> Self {
        Self { entries: Vec::new(), count: 0, index: PhantomData }
    }

    /// Table of `count` entries.
    pub(crate) fn filled(count: u16, entry: impl FnMut() -> T) -> Self {
        Self { entries: std::iter::repeat_with(entry).take(usize::from(count)).collect(), count, index: PhantomData }
    }

    pub(crate) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Appends an entry; None when the table is full.
    pub(crate) fn push(&mut self, entry: T) -> Option<I> {
        let index = I::from(self.count);
        self.count = self.count.checked_add(1)?;
        self.entries.push(entry);
        Some(index)
    }

    pub(crate) fn get(&self, index: I) -> Option<&T> {
        self.entries.get(index.number())
    }

    pub(crate) fn get_mut(&mut self, index: I) -> Option<&mut T> {
        self.entries.get_mut(index.number())
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// Indices of all entries; the table may be changed meanwhile.
    pub(crate) fn indices(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.count).map(I::from)
    }
}

impl<I: TableIndex, T> Index<I> for Indexed<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, index: I) -> &T {
        &self.entries[index.number()]
    }
}

impl<I: TableIndex, T> IndexMut<I> for Indexed<I, T> {
    #[inline]
    fn index_mut(&mut self, index: I) -> &mut T {
        &mut self.entries[index.number()]
    }
}

/// Index type: a number of 16 bits that is valid only for its own table.
macro_rules! table_index {
    ($(#[$attribute:meta])* $name:ident) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) struct $name(pub(crate) u16);

        impl From<u16> for $name {
            fn from(number: u16) -> Self {
                Self(number)
            }
        }

        impl crate::indexed::TableIndex for $name {
            #[inline]
            fn number(self) -> usize {
                usize::from(self.0)
            }
        }
    };
}

pub(crate) use table_index;
