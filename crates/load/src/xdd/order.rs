//! Order of requests: position and direction of the next one.

use super::config::{AccessOrder, Amount, Target, WHOLE};
use super::pattern::scrambled;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Offset from the target's start, bytes.
    pub(super) offset: u64,
    /// Length, bytes.
    pub(super) len: usize,
    pub(super) write: bool,
}

/// Requests of a pass, one after the other. The same target has the same order each time, and in each pass unless it
/// is randomized.
#[derive(Clone, Debug)]
pub(super) struct Order {
    way: AccessOrder,
    /// Bytes per request, and of the last request of a pass.
    len: u32,
    last: u32,
    /// Begin of the first pass, shift of each further pass, and end of the last request.
    start: u64,
    pass_offset: u64,
    end: u64,
    requests: u64,
    reads: u32,
    /// Seed that every pass begins with, unless each has positions of its own.
    again: Option<u64>,
    seed: u64,
    left: u64,
    at: u64,
    /// Reads that are due, in parts of [`WHOLE`].
    owed: u32,
}

impl Order {
    /// Makes the order for a target of `size` bytes in blocks of `block` bytes.
    pub(super) fn new(target: &Target, number: usize, size: u64, block: u64) -> Result<Self, String> {
        let (name, len) = (&target.name, target.request_bytes());
        let trouble = |why: String| Err(format!("target {number} ({name}): {why}"));
        if !len.is_multiple_of(block) {
            return trouble(format!(
                "a request of {len} bytes is no number of its {block}-byte blocks; change -reqsize"
            ));
        }
        let start = target.start.saturating_mul(target.block_size);
        let room = size.saturating_sub(start);
        let range = target.seek.range.map_or(room, |blocks| blocks.saturating_mul(target.block_size).min(room));
        if range < len {
            return trouble(format!(
                "no room for a request of {len} bytes: it has {size}, {range} of them to be used; change -reqsize, \
                 -startoffset or -seek range"
            ));
        }
        if !start.is_multiple_of(block) {
            return trouble(format!("-startoffset is no number of its {block}-byte blocks; change it or -blocksize"));
        }
        let whole = range / len;
        let (requests, last) = match target.amount {
            Amount::Whole => (whole, len),
            Amount::Requests(n) => (n, len),
            Amount::Bytes(n) if n.is_multiple_of(block) => (n.div_ceil(len), if n % len == 0 { len } else { n % len }),
            Amount::Bytes(n) => {
                return trouble(format!("{n} bytes a pass are no number of its {block}-byte blocks; change -bytes"));
            }
        };
        let pass_offset = target.pass_offset.saturating_mul(target.block_size);
        if !pass_offset.is_multiple_of(block) {
            return trouble(format!("-passoffset is no number of its {block}-byte blocks; change it or -blocksize"));
        }
        let (Ok(len), Ok(last)) = (u32::try_from(len), u32::try_from(last)) else {
            return trouble(format!("a request of {len} bytes is too long; change -reqsize"));
        };
        Ok(Self {
            way: target.seek.way,
            len,
            last,
            start,
            pass_offset,
            end: start + range,
            requests,
            reads: target.reads,
            again: (!target.randomize).then_some(target.seek.seed),
            seed: target.seek.seed,
            left: 0,
            at: start,
            owed: 0,
        })
    }

    /// Greatest number of bytes per request.
    pub(super) fn longest(&self) -> usize {
        self.len as usize
    }

    /// Begins pass number `pass`, counted from 0.
    pub(super) fn begin(&mut self, pass: u64) {
        let places = (self.end - self.start - u64::from(self.len)).saturating_add(1);
        // A pass that would begin beyond the last position begins at the first again.
        let shift = self.pass_offset.wrapping_mul(pass) % places;
        self.at = self.start + shift;
        self.left = self.requests;
        self.seed = self.again.unwrap_or(self.seed);
        self.owed = WHOLE / 2;
    }

    /// True if the pass has no more requests.
    pub(super) fn ended(&self) -> bool {
        self.left == 0
    }

    /// Next request; `None` when the pass has no more.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Request> {
        self.left = self.left.checked_sub(1)?;
        let offset = match self.way {
            AccessOrder::Sequential => {
                if self.at + u64::from(self.len) > self.end {
                    self.at = self.start;
                }
                let at = self.at;
                self.at += u64::from(self.len);
                at
            }
            AccessOrder::Still => self.at,
            AccessOrder::Random => {
                self.seed = self.seed.wrapping_add(1);
                let places = (self.end - self.start) / u64::from(self.len);
                let place = (u128::from(scrambled(self.seed)) * u128::from(places)) >> 64;
                self.start + u64::try_from(place).unwrap_or(0) * u64::from(self.len)
            }
        };
        self.owed += self.reads;
        let read = self.owed >= WHOLE;
        if read {
            self.owed -= WHOLE;
        }
        let len = if self.left == 0 { self.last } else { self.len };
        Some(Request { offset, len: len as usize, write: !read })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdd::config::Seek;

    fn target(blocks: u64, amount: Amount) -> Target {
        Target { block_size: 512, request_blocks: blocks, amount, ..Target::new("t") }
    }

    fn all(target: &Target, size: u64, pass: u64) -> Vec<Request> {
        let mut order = Order::new(target, 0, size, 512).unwrap();
        order.begin(pass);
        std::iter::from_fn(|| order.next()).collect()
    }

    fn offsets(target: &Target, size: u64, pass: u64) -> Vec<u64> {
        all(target, size, pass).iter().map(|request| request.offset).collect()
    }

    #[test]
    fn sequential_requests_lie_one_behind_the_other_and_begin_again() {
        let mut t = target(2, Amount::Requests(5));
        assert_eq!(offsets(&t, 1 << 20, 0), [0, 1024, 2048, 3072, 4096]);
        assert_eq!(offsets(&t, 2048 + 512, 0), [0, 1024, 0, 1024, 0], "what is left at the end is no request");
        t.start = 1;
        assert_eq!(offsets(&t, 1 << 20, 0)[..2], [512, 1536]);
        t.pass_offset = 4;
        assert_eq!(offsets(&t, 1 << 20, 2)[0], 512 + 2 * 4 * 512);
        t.seek.way = AccessOrder::Still;
        assert_eq!(offsets(&t, 1 << 20, 0), [512; 5]);
    }

    #[test]
    fn the_last_request_is_as_long_as_what_is_left() {
        let list = all(&target(2, Amount::Bytes(2560)), 1 << 20, 0);
        assert_eq!(list.iter().map(|r| r.len).collect::<Vec<_>>(), [1024, 1024, 512]);
        assert_eq!(all(&target(2, Amount::Whole), 4096, 0).len(), 4);
    }

    #[test]
    fn reads_and_writes_are_spread_evenly() {
        for (reads, expected) in
            [(WHOLE, "rrrrrrrr"), (0, "wwwwwwww"), (WHOLE / 2, "rwrwrwrw"), (WHOLE / 4, "wrwwwrww")]
        {
            let t = Target { reads, ..target(1, Amount::Requests(8)) };
            let got: String = all(&t, 1 << 20, 0).iter().map(|r| if r.write { 'w' } else { 'r' }).collect();
            assert_eq!(got, expected);
        }
        let t = Target { reads: 3_333, ..target(1, Amount::Requests(10_000)) };
        assert_eq!(all(&t, 1 << 20, 0).iter().filter(|r| !r.write).count(), 3_333);
    }

    #[test]
    fn random_places_are_all_reached_and_stay_in_the_range() {
        let seek = Seek { way: AccessOrder::Random, range: Some(32), seed: 7 };
        let t = Target { seek, start: 8, ..target(2, Amount::Requests(2_000)) };
        let list = offsets(&t, 1 << 20, 0);
        assert!(list.iter().all(|at| (4096..4096 + 32 * 512).contains(at) && at.is_multiple_of(1024)));
        let places: std::collections::BTreeSet<_> = list.iter().collect();
        assert_eq!(places.len(), 16);
        assert_eq!(list, offsets(&t, 1 << 20, 0), "the seed says where");
        let other = Target { seek: Seek { seed: 8, ..seek }, ..t };
        assert_ne!(list, offsets(&other, 1 << 20, 0));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (t, size, block, part) in [
            (target(2, Amount::Whole), 512, 512, "no room for a request of 1024 bytes"),
            (target(1, Amount::Whole), 1 << 20, 4096, "no number of its 4096-byte blocks; change -reqsize"),
            (target(8, Amount::Bytes(5000)), 1 << 20, 4096, "change -bytes"),
            (Target { start: 1, ..target(8, Amount::Whole) }, 1 << 20, 4096, "-startoffset"),
            (Target { pass_offset: 1, ..target(8, Amount::Whole) }, 1 << 20, 4096, "-passoffset"),
            (Target { start: u64::MAX, ..target(8, Amount::Whole) }, 1 << 20, 512, "no room"),
        ] {
            let error = Order::new(&t, 3, size, block).unwrap_err();
            assert!(error.starts_with("target 3 (t): ") && error.contains(part), "{error}");
        }
    }
}
