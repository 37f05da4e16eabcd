//! The pieces of one datagram, in order of offset, none over another: an insertion costs the logarithm of their number
//! and what it overlaps.

use std::collections::BTreeMap;

use super::Reason;

/// What came of a datagram's fragmented part so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    by_offset: BTreeMap<usize, Vec<u8>>,
    /// Bytes there are.
    received: usize,
    /// Bytes in all, once the last fragment came.
    total: Option<usize>,
}

/// What two fragments that both have some byte mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// IPv4: harmless while they agree on it, as when a packet was sent twice over paths of different MTU.
    Agreeing,
    /// IPv6: only an exact duplicate is harmless (RFC 5722; RFC 8200, section 4.5).
    Duplicate,
}

impl Pieces {
    /// Place where in `offset..offset + payload.len()` there are no bytes yet, in order; nothing when all are there already.
    ///
    /// # Errors
    ///
    /// [`Reason::Overlap`] and [`Reason::Inconsistent`], each the end of the whole datagram.
    pub(super) fn gaps(
        &self,
        offset: usize,
        more: bool,
        payload: &[u8],
        overlap: Overlap,
    ) -> Result<Vec<(usize, usize)>, Reason> {
        let end = offset + payload.len();
        // When the total is known, the piece that ends there is too: another last fragment is shorter or beyond.
        if self.total.is_some_and(|total| end > total) || !more && self.end() > end {
            return Err(Reason::Inconsistent);
        }
        let mut gaps = Vec::new();
        let mut from = offset;
        let before = self.by_offset.range(..offset).next_back();
        for (&start, piece) in before.into_iter().chain(self.by_offset.range(offset..end)) {
            let stop = start + piece.len();
            let (low, high) = (start.max(offset), stop.min(end));
            if low >= high {
                continue;
            }
            let agree = piece[low - start..high - start] == payload[low - offset..high - offset];
            let exact = start == offset && stop == end;
            if !agree || overlap == Overlap::Duplicate && !exact {
                return Err(Reason::Overlap);
            }
            if from < low {
                gaps.push((from, low));
            }
            from = high;
        }
        if from < end {
            gaps.push((from, end));
        }
        Ok(gaps)
    }

    /// Fills one gap of those that [`gaps`](Self::gaps) told.
    pub(super) fn fill(&mut self, offset: usize, octets: &[u8]) {
        self.received += octets.len();
        self.by_offset.insert(offset, octets.to_vec());
    }

    /// Notes that the last fragment ends at `end`.
    pub(super) fn ends_at(&mut self, end: usize) {
        self.total = Some(end);
    }

    /// Bytes in all, when none is missing.
    pub(super) fn complete(&self) -> Option<usize> {
        self.total.filter(|&total| self.received == total)
    }

    /// Pieces there are.
    pub(super) fn len(&self) -> usize {
        self.by_offset.len()
    }

    /// The piece that begins at 0.
    pub(super) fn first(&self) -> Option<&[u8]> {
        self.by_offset.get(&0).map(Vec::as_slice)
    }

    /// The pieces in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.by_offset.values().map(Vec::as_slice)
    }

    fn end(&self) -> usize {
        self.by_offset.last_key_value().map_or(0, |(&offset, piece)| offset + piece.len())
    }
}
