//! The last writes of a disk, by which those are named that may have reached another disk in its place.

use std::collections::VecDeque;

/// Most writes that are kept.
const KEPT: usize = 256;
/// Most writes that are named in a sentence.
const NAMED: usize = 8;

/// Successful commands that wrote, in the order of their ends.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    pub(super) count: u64,
    /// First block and number of blocks of the last ones.
    last: VecDeque<(u64, u64)>,
    /// Number of them when the disk last said who it is.
    pub(super) verified: u64,
    /// The target executes nothing that was meant for another disk, until it is asked who this one is: it is asked only when
    /// nothing is under way, so that none of them is ever in doubt.
    pub(super) guarded: bool,
    /// Number of those that were surely written to this disk, since that is in doubt.
    sure: Option<u64>,
    /// Another disk was found in its place since.
    other: bool,
}

impl Written {
    /// No writes yet, of a disk that is guarded or not.
    pub(super) fn new(guarded: bool) -> Self {
        Self { guarded, ..Self::default() }
    }

    /// Records a command that has written these blocks.
    pub(super) fn add(&mut self, (lba, blocks): (u64, u64)) {
        self.count += 1;
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back((lba, blocks));
    }

    /// Records that the disk has said who it is, behind the first `count` ones.
    pub(super) fn verify(&mut self, count: u64) {
        self.verified = count;
    }

    /// Doubts the writes behind the first `sure` ones, or behind the disk's last word of who it is.
    pub(super) fn question(&mut self, sure: Option<u64>) {
        if !self.guarded {
            let sure = sure.unwrap_or(self.verified);
            self.sure = Some(self.sure.map_or(sure, |before| before.min(sure)));
        }
    }

    /// Records that another disk was found in its place.
    pub(super) fn exchange(&mut self) {
        if !self.guarded {
            self.sure.get_or_insert(self.verified);
        }
        self.other = true;
    }

    /// Doubts nothing any more.
    pub(super) fn trust(&mut self) {
        (self.verified, self.sure, self.other) = (self.count, None, false);
    }

    /// Writes in doubt, as the end of a sentence; empty if there are none. Of a disk in whose place there was never seen to be
    /// another one, only that is said by which they are on it.
    pub(super) fn doubt(&self) -> String {
        let doubtful = self.sure.map_or(0, |sure| self.count - sure.min(self.count));
        if doubtful == 0 {
            return String::new();
        }
        let (writes, are) = if doubtful == 1 { ("write", "was") } else { ("writes", "were") };
        if !self.other {
            return format!(
                "; {doubtful} {writes} ended well after it had last said its name, and {are} its own unless another disk had \
                 the LUN for a time"
            );
        }
        let known = self.count - self.last.len() as u64;
        let skipped = usize::try_from((self.count - doubtful).saturating_sub(known)).unwrap_or(0);
        let names = self.last.iter().skip(skipped).take(NAMED);
        let names: Vec<_> = names.map(|(lba, blocks)| format!("{blocks} blocks at {lba}")).collect();
        let more = doubtful - names.len() as u64;
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let names = names.join(", ");
        format!("; {doubtful} {writes} may have gone to another disk: {names}{more}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_in_doubt_are_named_as_far_as_they_are_known() {
        let mut written = Written::default();
        (0..300).for_each(|lba| written.add((lba, 2)));
        assert_eq!(written.doubt(), "");
        written.exchange();
        assert!(written.doubt().starts_with("; 300 writes may have gone to another disk: 2 blocks at 44, "));
        assert!(written.doubt().ends_with(", 2 blocks at 51 and 292 more"));
        written.trust();
        written.question(Some(300));
        assert_eq!(written.doubt(), "");
        written.question(Some(299));
        written.question(Some(298));
        written.question(Some(299));
        let words = "; 2 writes ended well after it had last said its name, and were its own unless another disk had the LUN for a time";
        assert_eq!(written.doubt(), words);
        written.exchange();
        assert_eq!(written.doubt(), "; 2 writes may have gone to another disk: 2 blocks at 298, 2 blocks at 299");
    }

    #[test]
    fn writes_of_a_guarded_disk_are_never_in_doubt() {
        let mut written = Written::new(true);
        written.add((0, 1));
        written.question(None);
        written.question(Some(0));
        written.exchange();
        assert_eq!(written.doubt(), "");
    }
}
