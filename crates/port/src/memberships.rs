//! What a port on an interface of the system was told to receive, and whether the interface could do just that.

use crate::info::Filter;
use linerate_host::{Control, Membership, Rtnetlink};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What was asked of an interface; it ends with the control socket.
#[derive(Default)]
pub(crate) struct Memberships(Mutex<Asked>);

#[derive(Default)]
struct Asked {
    joined: Vec<Membership>,
    /// The interface receives all frames because of our addresses.
    overfull: bool,
}

impl Memberships {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for what a filter says, and takes back what an earlier one said.
    pub(crate) fn apply(
        &self,
        filter: &Filter,
        control: &Control,
        (links, name): (&Mutex<Rtnetlink>, &str),
    ) -> Result<(), String> {
        let mut wanted: Vec<_> = filter.addresses.iter().copied().map(Membership::Address).collect();
        wanted.extend(filter.promiscuous.then_some(Membership::Promiscuous));
        wanted.extend(filter.all_multicast.then_some(Membership::AllMulticast));
        // Somebody else may have wanted all frames before.
        let receives_all = || {
            let state = links.lock().unwrap_or_else(PoisonError::into_inner).link(name);
            state.is_ok_and(|link| link.promiscuous)
        };
        let mut asked = self.asked();
        let before = receives_all();
        // The new ones first, so that nothing that both want is missed meanwhile.
        for (done, membership) in wanted.iter().enumerate() {
            if let Err(e) = control.join(*membership) {
                for earlier in &wanted[..done] {
                    let _ = control.leave(*earlier);
                }
                return Err(format!("the interface takes no such filter: {e}"));
            }
        }
        for membership in std::mem::replace(&mut asked.joined, wanted) {
            // An interface that is gone has forgotten it already.
            let _ = control.leave(membership);
        }
        let unicast = filter.addresses.iter().any(|address| address[0] & 1 == 0);
        asked.overfull = unicast && !filter.promiscuous && (asked.overfull || !before) && receives_all();
        Ok(())
    }

    /// What the user should know of it: a driver that keeps no further unicast address has the interface receive all
    /// frames, and says so to nobody (`__dev_set_rx_mode`).
    pub(crate) fn note(&self, name: &str) -> Option<String> {
        self.asked().overfull.then(|| {
            format!(
                "{name} keeps no further unicast address, so it receives all frames, promiscuous; give the port {name}'s own \
                 address to have others kept away"
            )
        })
    }
}
