//! Received pieces of one datagram, in order of offset, without overlap: an insertion takes time logarithmic in their
//! number, plus the pieces that it overlaps.

use std::collections::BTreeMap;

use super::Reason;

/// Pieces of one datagram's fragmentable part received so far.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    by_offset: BTreeMap<usize, Vec<u8>>,
    /// Bytes received.
    received: usize,
    /// Length of the fragmentable part, known once the last fragment has arrived.
    total: Option<usize>,
}

/// Rule for two fragments that overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overlap {
    /// IPv4: allowed if the overlapping bytes are equal, as when a packet was sent twice over paths of different MTU.
    Agreeing,
    /// IPv6: only an exact duplicate is allowed (RFC 5722; RFC 8200, section 4.5).
    Duplicate,
}

impl Pieces {
    /// Ranges (start, end) within `offset..offset + payload.len()` not received yet, in order; empty if all were.
    ///
    /// # Errors
    ///
    /// [`Reason::Overlap`] and [`Reason::Inconsistent`], which both end reassembly of the datagram.
    pub(super) fn gaps(
        &self,
        offset: usize,
        more: bool,
        payload: &[u8],
        overlap: Overlap,
    ) -> Result<Vec<(usize, usize)>, Reason> {
        let end = offset + payload.len();
        // If the total is known, its last piece is too: another last fragment is shorter or goes beyond.
        if self.total.is_some_and(|total| end > total) || !more && self.end() > end {
            return Err(Reason::Inconsistent);
        }
        let mut gaps = Vec::new();
        let mut from = offset;
        for (start, piece) in self.near(offset, end) {
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

    /// Pieces that may overlap a range: the last one that begins before it, and those that begin in it, of which there is
    /// at most one for each 8 bytes of the range.
    fn near(&self, offset: usize, end: usize) -> impl Iterator<Item = (usize, &[u8])> {
        let before = self.by_offset.range(..offset).next_back();
        let all = before.into_iter().chain(self.by_offset.range(offset..end));
        all.map(|(start, piece)| (*start, &piece[..]))
    }

    /// Fills one of the gaps that [`gaps`](Self::gaps) returned.
    pub(super) fn fill(&mut self, offset: usize, bytes: &[u8]) {
        self.received += bytes.len();
        self.by_offset.insert(offset, bytes.to_vec());
    }

    /// Records that the last fragment ends at `end`.
    pub(super) fn ends_at(&mut self, end: usize) {
        self.total = Some(end);
    }

    /// Length of the fragmentable part, if none of it is missing.
    pub(super) fn complete(&self) -> Option<usize> {
        self.total.filter(|&total| self.received == total)
    }

    /// Number of pieces.
    #[cfg(test)]
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

/// Whatever pieces an attacker has sent before, and in whatever order, a fragment is compared with no more of them than its
/// own length allows.
#[test]
fn a_fragment_is_compared_with_as_many_pieces_as_its_length_allows() {
    let mut pieces = Pieces::default();
    // Every second piece, from both ends to the middle: the most holes that there can be.
    for at in (0..4096).map(|i| if i % 2 == 0 { i * 8 } else { 65_528 - i * 8 }) {
        assert_eq!(pieces.gaps(at, true, &[1; 8], Overlap::Agreeing), Ok(vec![(at, at + 8)]));
        pieces.fill(at, &[1; 8]);
    }
    assert_eq!(pieces.len(), 4096);
    for len in [8, 64, 1480, 8192] {
        for offset in (0..65_528 - len).step_by(8) {
            let most = 1 + len / 8;
            assert!(pieces.near(offset, offset + len).count() <= most, "{len} bytes at {offset}");
        }
    }
}
