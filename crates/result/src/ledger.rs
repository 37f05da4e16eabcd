//! The conservation ledger: accounts for every frame that was offered.
//!
//! ```text
//!     offered ─┬─► sent ─┬─► received
//!              │         ├─► dropped (by reason)
//!              │         └─► in flight, still so after the drain
//!              └─► refused (by reason)
//! ```
//!
//! A frame that a faulty port sends twice on purpose counts as one frame sent and one doubled; each of its copies may
//! arrive or be dropped. Arrivals in excess of the frames sent are a surplus, which does not offset a loss.
//!
//! Every term is counted where the event happens. The remainder of the terms is *unexplained*; it is only ever
//! computed, so that a ledger cannot be made to balance by writing a zero into it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Account of the frames of one test, summed over its valid and invalid repeats.
///
/// The sender's or receiver's totals are `null` when that side could not be counted (a `tx` test to a foreign switch
/// has no `received`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct Ledger {
    /// Frames that the workload wanted to send.
    pub offered: Option<u64>,
    /// Frames that the sending port accepted.
    pub sent: Option<u64>,
    /// Frames that the sending port did not accept, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Frames of this run that arrived, each counted once however often it arrived.
    pub received: Option<u64>,
    /// Frames that were sent and then dropped by a part that counts its drops, by reason.
    pub dropped: BTreeMap<String, u64>,
    /// Frames still in transit when the drain ended, counted in the rings that hold them.
    pub in_flight: u64,
    /// Second and further arrivals of a frame already counted as received.
    pub duplicated: u64,
    /// Copies that were sent in addition to the frames themselves, on purpose.
    pub doubled: u64,
    /// Arrivals of this run that were never sent, if the receiver knows which frames were sent.
    pub unsent: u64,
    /// Frames that arrived and did not belong to this run (a kernel's neighbour discovery, another sender).
    pub foreign: u64,
}

/// Remainder of the counted terms of a [`Ledger`]: positive when frames are missing, negative when there are too many,
/// `null` when a side was not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unexplained {
    /// offered - sent - Σ refused, frames.
    pub sending: Option<i64>,
    /// sent + doubled - (received + duplicated - unsent) - Σ dropped - in flight, frames.
    pub receiving: Option<i64>,
    /// Arrivals that were never sent, frames.
    #[serde(default)]
    pub surplus: u64,
}

impl Unexplained {
    /// Unexplained frames, missing or surplus, of both sides; `None` when neither side was counted.
    #[must_use]
    pub fn frames(self) -> Option<u64> {
        match (self.sending, self.receiving) {
            (None, None) if self.surplus == 0 => None,
            (a, b) => {
                let sides = a.unwrap_or(0).unsigned_abs().saturating_add(b.unwrap_or(0).unsigned_abs());
                Some(sides.saturating_add(self.surplus))
            }
        }
    }

    /// True if both sides were counted, both remainders are zero and there is no surplus.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.sending == Some(0) && self.receiving == Some(0) && self.surplus == 0
    }
}

impl Ledger {
    /// Computes the remainder of the counted terms.
    #[must_use]
    pub fn settle(&self) -> Unexplained {
        Unexplained {
            sending: self.offered.zip(self.sent).map(|(offered, sent)| less(&[offered], &[sent], &self.refused)),
            receiving: self.sent.zip(self.received).map(|(sent, received)| {
                let came = [received, self.duplicated, self.in_flight];
                less(&[sent, self.doubled, self.unsent], &came, &self.dropped)
            }),
            surplus: self.unsent,
        }
    }

    /// Adds the terms of another ledger, such as a second queue's or the other process's half.
    ///
    /// A total that only one of the two knows is taken as the whole, since the other side did not count it.
    pub fn add(&mut self, other: &Self) {
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
        self.offered = sum(self.offered, other.offered);
        self.sent = sum(self.sent, other.sent);
        self.received = sum(self.received, other.received);
        for (mine, others) in [(&mut self.refused, &other.refused), (&mut self.dropped, &other.dropped)] {
            for (reason, frames) in others {
                let term = mine.entry(reason.clone()).or_default();
                *term = term.saturating_add(*frames);
            }
        }
        self.in_flight = self.in_flight.saturating_add(other.in_flight);
        self.duplicated = self.duplicated.saturating_add(other.duplicated);
        self.doubled = self.doubled.saturating_add(other.doubled);
        self.unsent = self.unsent.saturating_add(other.unsent);
        self.foreign = self.foreign.saturating_add(other.foreign);
    }
}

/// `Σ whole - Σ parts - Σ reasons`, computed in 128 bits and then clamped to the range of `i64`.
fn less(whole: &[u64], parts: &[u64], reasons: &BTreeMap<String, u64>) -> i64 {
    let taken: i128 = parts.iter().chain(reasons.values()).map(|&frames| i128::from(frames)).sum();
    let left = whole.iter().map(|&frames| i128::from(frames)).sum::<i128>() - taken;
    i64::try_from(left).unwrap_or(if left < 0 { i64::MIN } else { i64::MAX })
}

/// The ledger's JSON form, which shows `unexplained` beside the terms that it is computed from.
#[derive(Serialize, Deserialize)]
struct Written {
    offered: Option<u64>,
    sent: Option<u64>,
    #[serde(default)]
    refused: BTreeMap<String, u64>,
    received: Option<u64>,
    #[serde(default)]
    dropped: BTreeMap<String, u64>,
    in_flight: u64,
    unexplained: Unexplained,
    duplicated: u64,
    /// Missing in older documents, in which every second arrival was sent on purpose.
    #[serde(default)]
    doubled: Option<u64>,
    #[serde(default)]
    unsent: u64,
    foreign: u64,
}

impl From<Ledger> for Written {
    fn from(ledger: Ledger) -> Self {
        let unexplained = ledger.settle();
        let Ledger { offered, sent, refused, received, dropped, in_flight, duplicated, doubled, unsent, foreign } =
            ledger;
        let doubled = Some(doubled);
        Self { offered, sent, refused, received, dropped, in_flight, unexplained, duplicated, doubled, unsent, foreign }
    }
}

impl TryFrom<Written> for Ledger {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { offered, sent, refused, received, dropped, in_flight, unexplained, duplicated, .. } = written;
        let (doubled, unsent, foreign) = (written.doubled.unwrap_or(duplicated), written.unsent, written.foreign);
        let ledger =
            Self { offered, sent, refused, received, dropped, in_flight, duplicated, doubled, unsent, foreign };
        let settled = ledger.settle();
        if settled != unexplained {
            return Err(format!(
                "ledger does not add up: it says {unexplained:?}, its terms say {settled:?}; the file was edited or damaged"
            ));
        }
        Ok(ledger)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Ledger, Unexplained};

    fn map(terms: &[(&str, u64)]) -> BTreeMap<String, u64> {
        terms.iter().map(|&(reason, frames)| (reason.to_owned(), frames)).collect()
    }

    fn balanced() -> Ledger {
        Ledger {
            offered: Some(1000),
            sent: Some(970),
            refused: map(&[("ring_full", 30)]),
            received: Some(950),
            dropped: map(&[("peer_died", 4), ("rx_ring_full", 13)]),
            in_flight: 3,
            duplicated: 2,
            doubled: 2,
            unsent: 0,
            foreign: 5,
        }
    }

    #[test]
    fn a_ledger_that_adds_up_leaves_nothing() {
        let left = balanced().settle();
        assert_eq!(left, Unexplained { sending: Some(0), receiving: Some(0), surplus: 0 });
        assert!(left.is_zero());
        assert_eq!(left.frames(), Some(0));
    }

    #[test]
    fn k_missing_frames_are_exactly_k_unexplained() {
        for k in [1, 7, 950] {
            let mut ledger = balanced();
            ledger.received = ledger.received.map(|frames| frames - k);
            let left = ledger.settle();
            assert_eq!(left.sending, Some(0));
            assert_eq!(left.receiving, Some(i64::try_from(k).unwrap()));
            assert_eq!(left.frames(), Some(k));
            assert!(!left.is_zero());
        }
    }

    #[test]
    fn frames_too_many_are_unexplained_too() {
        let mut ledger = balanced();
        ledger.received = Some(960);
        ledger.refused.clear();
        let left = ledger.settle();
        assert_eq!(left, Unexplained { sending: Some(30), receiving: Some(-10), surplus: 0 });
        assert_eq!(left.frames(), Some(40), "a surplus does not pay for a loss");
    }

    #[test]
    fn foreign_frames_explain_nothing_and_frames_that_came_twice_were_sent_twice_or_by_nobody() {
        let mut ledger = balanced();
        ledger.foreign += 100;
        assert!(ledger.settle().is_zero());
        // The receiver knows which frames were sent: these are a surplus, which does not offset a loss.
        (ledger.duplicated, ledger.unsent) = (ledger.duplicated + 200, 200);
        assert_eq!(ledger.settle(), Unexplained { sending: Some(0), receiving: Some(0), surplus: 200 });
        assert!(!ledger.settle().is_zero());
        ledger.received = ledger.received.map(|frames| frames - 200);
        assert_eq!(ledger.settle().frames(), Some(400));
        // The receiver does not know, and the sender reports that it doubled none of them.
        (ledger, ledger.duplicated) = (balanced(), 202);
        assert_eq!(ledger.settle().receiving, Some(-200));
    }

    #[test]
    fn of_a_frame_that_was_doubled_either_copy_may_be_dropped() {
        let mut ledger = balanced();
        (ledger.doubled, ledger.duplicated) = (100, 86);
        *ledger.dropped.get_mut("rx_ring_full").unwrap() += 14;
        assert!(ledger.settle().is_zero(), "{:?}", ledger.settle());
    }

    #[test]
    fn documents_that_know_no_doubled_frames_are_read_as_they_were_meant() {
        let json = serde_json::to_string(&balanced()).unwrap();
        let older = json.replace(r#""doubled":2,"unsent":0,"#, "").replace(r#","surplus":0"#, "");
        assert_ne!(older, json);
        assert_eq!(serde_json::from_str::<Ledger>(&older).unwrap(), balanced());
    }

    #[test]
    fn a_side_that_nobody_counted_is_unknown_not_zero() {
        let ledger = Ledger { received: None, ..balanced() };
        assert_eq!(ledger.settle(), Unexplained { sending: Some(0), receiving: None, surplus: 0 });
        assert!(!ledger.settle().is_zero());
        assert_eq!(Ledger::default().settle().frames(), None);
    }

    #[test]
    fn extreme_counts_do_not_wrap() {
        let ledger = Ledger { offered: Some(0), sent: Some(u64::MAX), received: Some(0), ..Ledger::default() };
        assert_eq!(ledger.settle(), Unexplained { sending: Some(i64::MIN), receiving: Some(i64::MAX), surplus: 0 });
        assert_eq!(ledger.settle().frames(), Some(u64::MAX));
    }

    #[test]
    fn halves_of_two_processes_join() {
        let whole = balanced();
        let mut joined =
            Ledger { received: None, dropped: BTreeMap::new(), duplicated: 0, foreign: 0, ..whole.clone() };
        let half = Ledger {
            received: whole.received,
            dropped: whole.dropped.clone(),
            duplicated: whole.duplicated,
            foreign: whole.foreign,
            ..Ledger::default()
        };
        joined.add(&half);
        assert_eq!(joined, whole);
    }

    #[test]
    fn json_shows_what_is_unexplained_and_refuses_a_cooked_one() {
        let mut ledger = balanced();
        ledger.received = Some(940);
        let json = serde_json::to_string(&ledger).unwrap();
        assert!(json.contains(r#""unexplained":{"sending":0,"receiving":10,"surplus":0}"#), "{json}");
        assert_eq!(serde_json::from_str::<Ledger>(&json).unwrap(), ledger);
        let cooked = json.replace(r#""receiving":10"#, r#""receiving":0"#);
        let error = serde_json::from_str::<Ledger>(&cooked).unwrap_err().to_string();
        assert!(error.contains("does not add up"), "{error}");
    }
}
