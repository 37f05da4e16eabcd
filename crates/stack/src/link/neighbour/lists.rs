//! Doubly linked lists over the indices of a table, without allocation after the start: every operation is O(1).

const NONE: usize = usize::MAX;

/// `N` lists, named 0 to `N - 1`; each index of the table is in at most one of them.
#[derive(Debug)]
pub(super) struct Lists<const N: usize> {
    ends: [Ends; N],
    links: Box<[Link]>,
}

#[derive(Debug, Clone, Copy)]
struct Ends {
    first: usize,
    last: usize,
    len: usize,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    before: usize,
    after: usize,
    list: usize,
}

impl<const N: usize> Lists<N> {
    /// Empty lists over `capacity` indices.
    pub(super) fn new(capacity: usize) -> Self {
        let link = Link { before: NONE, after: NONE, list: NONE };
        Self { ends: [Ends { first: NONE, last: NONE, len: 0 }; N], links: vec![link; capacity].into() }
    }

    /// Oldest index in `list`.
    pub(super) fn first(&self, list: usize) -> Option<usize> {
        Some(self.ends[list].first).filter(|&first| first != NONE)
    }

    /// Number of indices in `list`.
    pub(super) fn len(&self, list: usize) -> usize {
        self.ends[list].len
    }

    /// List that `index` is in.
    pub(super) fn list_of(&self, index: usize) -> Option<usize> {
        Some(self.links[index].list).filter(|&list| list != NONE)
    }

    /// Appends `index` to `list`, after removing it from its present one.
    pub(super) fn append(&mut self, list: usize, index: usize) {
        self.remove(index);
        let before = self.ends[list].last;
        self.links[index] = Link { before, after: NONE, list };
        match before {
            NONE => self.ends[list].first = index,
            before => self.links[before].after = index,
        }
        self.ends[list].last = index;
        self.ends[list].len += 1;
    }

    /// Removes `index` from its list, if it is in one.
    pub(super) fn remove(&mut self, index: usize) {
        let Link { before, after, list } = self.links[index];
        if list == NONE {
            return;
        }
        match before {
            NONE => self.ends[list].first = after,
            before => self.links[before].after = after,
        }
        match after {
            NONE => self.ends[list].last = before,
            after => self.links[after].before = before,
        }
        self.links[index].list = NONE;
        self.ends[list].len -= 1;
    }
}
