//! Address filters that a port set on an interface of the system, and the interface's fallback to receiving all frames.

use crate::info::Filter;
use linerate_host::{Control, Membership, Rtnetlink};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memberships requested of an interface; they end with the control socket.
#[derive(Default)]
pub(crate) struct Memberships(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    joined: Vec<Membership>,
    /// The interface receives all frames because of these addresses.
    overfull: bool,
}

impl Memberships {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Requests the memberships of a filter, and cancels those of the earlier one.
    pub(crate) fn apply(
        &self,
        filter: &Filter,
        control: &Control,
        (links, name): (&Mutex<Rtnetlink>, &str),
    ) -> Result<(), String> {
        let mut wanted: Vec<_> = filter.addresses.iter().copied().map(Membership::Address).collect();
        wanted.extend(filter.promiscuous.then_some(Membership::Promiscuous));
        wanted.extend(filter.all_multicast.then_some(Membership::AllMulticast));
        // The interface may have been set to receive all frames before.
        let receives_all = || {
            let state = links.lock().unwrap_or_else(PoisonError::into_inner).link(name);
            state.is_ok_and(|link| link.promiscuous)
        };
        let mut asked = self.asked();
        let before = receives_all();
        // New memberships are added first, so that no frame wanted by both filters is missed meanwhile.
        for (done, membership) in wanted.iter().enumerate() {
            if let Err(e) = control.join(*membership) {
                for earlier in &wanted[..done] {
                    let _ = control.leave(*earlier);
                }
                return Err(format!("the interface takes no such filter: {e}"));
            }
        }
        for membership in std::mem::replace(&mut asked.joined, wanted) {
            // An interface that is gone has dropped its memberships already.
            let _ = control.leave(membership);
        }
        let unicast = filter.addresses.iter().any(|address| address[0] & 1 == 0);
        asked.overfull = unicast && !filter.promiscuous && (asked.overfull || !before) && receives_all();
        Ok(())
    }

    /// Note for the user: a driver without room for another unicast address makes the interface receive all frames, and
    /// reports that to nobody (`__dev_set_rx_mode`).
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        self.asked().overfull.then(|| {
            format!(
                "{name} keeps no further unicast address, so it receives all frames, promiscuous; give the port {name}'s own \
                 address to have others kept away"
            )
        })
    }
}
