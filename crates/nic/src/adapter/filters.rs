//! The adapter's receive filters: what becomes of frames before addresses choose their interface. How rules match is
//! [`Steering`]'s business; here are the hits, and the tables of threads.

use super::MAX_INTERFACES;
use super::control::{Control, NicError};
use linerate_offload::{Action, FlowKey, Headers, Rule, Steering};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Most queues of an interface.
const QUEUES: u16 = 128;
/// Interfaces that rules can name: all that an adapter can have.
const INTERFACES: u16 = 128;
const _: () = assert!(INTERFACES as usize == MAX_INTERFACES);

/// Frames that a filter has matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterHits {
    /// Number of frames.
    pub frames: u64,
    /// Their bytes, without FCS.
    pub bytes: u64,
}

/// Rules, and the hits of each.
#[derive(Clone)]
pub(crate) struct Filters {
    table: Steering,
    /// Hits of the rules, in their order; they stay a rule's when others come and go.
    hits: Vec<Arc<[AtomicU64; 2]>>,
}

impl Default for Filters {
    fn default() -> Self {
        Self { table: Steering::of_interfaces(INTERFACES, QUEUES), hits: Vec::new() }
    }
}

impl Filters {
    /// Action of the first rule that a frame matches, which is counted; None if there is none.
    pub(crate) fn judge(&self, frame: &[u8]) -> Option<Action> {
        let headers = Headers::parse(frame, frame.len())?;
        let rule = self.table.classify(&FlowKey::new(&headers, frame, 0))?;
        let hits = self.hits.get(self.place(rule.location).ok()?)?;
        // Relaxed: each count stands for itself.
        hits[0].fetch_add(1, Relaxed);
        hits[1].fetch_add(frame.len() as u64, Relaxed);
        Some(rule.action)
    }

    fn place(&self, location: u16) -> Result<usize, usize> {
        self.table.rules().binary_search_by_key(&location, |rule| rule.location)
    }

    fn is_empty(&self) -> bool {
        self.table.is_empty()
    }
}

impl Control {
    /// The adapter's receive filters by location, each with its hits.
    #[must_use]
    pub fn filters(&self) -> Vec<(Rule, FilterHits)> {
        let Some(filters) = self.shared.now().filters.clone() else { return Vec::new() };
        let hits =
            |hits: &Arc<[AtomicU64; 2]>| FilterHits { frames: hits[0].load(Relaxed), bytes: hits[1].load(Relaxed) };
        filters.table.rules().iter().zip(&filters.hits).map(|(rule, own)| (*rule, hits(own))).collect()
    }

    /// Adds a receive filter, in place of one at the same location, whose hits end. It is in force with each queue's next
    /// poll.
    ///
    /// # Errors
    /// [`NicError::Steer`] when the rule cannot be.
    pub fn add_filter(&self, rule: Rule) -> Result<(), NicError> {
        self.shared.replace_filters(|filters| {
            let before = filters.place(rule.location);
            filters.table.insert(rule)?;
            let hits = Arc::new([AtomicU64::new(0), AtomicU64::new(0)]);
            match before {
                Ok(at) => filters.hits[at] = hits,
                Err(at) => filters.hits.insert(at, hits),
            }
            Ok(())
        })
    }

    /// Removes the receive filter at a location.
    ///
    /// # Errors
    /// [`NicError::Steer`] when there is none.
    pub fn remove_filter(&self, location: u16) -> Result<Rule, NicError> {
        self.shared.replace_filters(|filters| {
            let at = filters.place(location);
            let rule = filters.table.remove(location)?;
            at.ok().map(|at| filters.hits.remove(at));
            Ok(rule)
        })
    }
}

/// The table as threads use it: None if there are no rules, which costs them one branch a frame.
pub(crate) fn in_force(filters: Filters) -> Option<Arc<Filters>> {
    (!filters.is_empty()).then(|| Arc::new(filters))
}
