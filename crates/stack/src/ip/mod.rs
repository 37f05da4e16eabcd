//! IP, version 4 and 6: the host's addresses and routes, headers, fragments, and ICMP.
//!
//! Upwards it delivers payloads for the protocols above, and reports of ICMP or of neighbour resolution about their
//! packets ([`Taken`], [`Report`]). Downwards it chooses source and next hop ([`NextHop`]) and gives whole packets to
//! the link.
//!
//! Out of scope: it forwards nothing, and knows no sockets.

mod auto;
mod claims;
mod header;
mod icmp;
mod ident;
mod looped;
mod mld;
mod options;
mod output;
mod packet;
mod pmtu;
mod reassembly;
mod rest;
mod route;
mod settings;
mod shared;
mod v4;
mod v6;

use crate::due::Due;
use crate::link::{Generation, Link};
use crate::secret::Secret;
use crate::{Event, Transmit};
pub use header::Traffic;
pub(crate) use header::{PayloadLen, emit_ip, header_len, whole_packet};
pub(crate) use icmp::{About, Report, Told, Wrong};
pub(crate) use ident::ATOMIC;
use looped::Looped;
pub(crate) use output::NextHop;
pub(crate) use packet::{Origin, Packet, Taken};
pub use reassembly::{
    Config as ReassemblyConfig, Counters as ReassemblyCounters, Fragment, Fragments, Outcome, Reason, Reassembly,
};
use rest::Rest;
pub use route::{Route, RouteError};
pub use settings::ConfigError;
pub(crate) use settings::{Settings, check_mtu};
use shared::Shared;
use std::sync::Arc;

/// IP over one link: one shard of it. Shards have settings, neighbours and identifications of fragments in common;
/// fragments that wait for others, and packets to the host itself, belong to the shard that has them.
#[derive(Debug)]
pub(crate) struct Ip {
    pub(crate) link: Link,
    /// Settings as this shard knows them.
    pub(crate) settings: Arc<Settings>,
    /// State that the shards share.
    shared: Arc<Shared>,
    /// Generation in which the settings were last compared with those that the shards share.
    seen: Option<Generation>,
    reassembly: Reassembly,
    pub(crate) looped: Looped,
    pub(crate) rest: Rest,
}

impl Ip {
    /// Makes a layer without addresses and routes.
    pub(crate) fn new(link: Link, secret: Secret) -> Self {
        let settings = Arc::new(Settings::new(link.station));
        let shared = Arc::new(Shared::new(settings.clone(), secret));
        Self::over(link, settings, shared)
    }

    /// Makes another shard.
    pub(crate) fn shard(&self) -> Self {
        Self::over(self.link.shard(), self.settings.clone(), self.shared.clone())
    }

    fn over(link: Link, settings: Arc<Settings>, shared: Arc<Shared>) -> Self {
        let mut ip = Self {
            // Whatever was changed meanwhile is taken over now.
            seen: None,
            link,
            settings,
            shared,
            reassembly: Reassembly::new(ReassemblyConfig::default()),
            looped: Looped::default(),
            rest: Rest::default(),
        };
        ip.follow();
        ip
    }

    /// Does the work that is due: fragments that waited for room, requests to neighbours and routers, claims to addresses,
    /// and errors for fragments that never came.
    pub(crate) fn poll<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        self.rest.send(tx);
        self.link.poll(now, &self.settings.own, tx);
        self.end_fragments(now, tx);
        // Groups first: who does not receive them hears of no claim (RFC 4862, section 5.4.2).
        self.poll_listener(now, tx);
        self.poll_claims(now, tx);
        self.poll_auto(now, tx);
    }

    /// Announces the host's addresses, and the groups that it receives, to all on the link.
    pub(crate) fn announce<T: Transmit>(&mut self, tx: &mut T) {
        self.link.announce(&self.settings.own, tx);
        self.shared.listener.begin();
    }

    /// The link came up: groups are reported, addresses checked, and routers asked for.
    pub(crate) fn begin(&mut self) {
        self.shared.listener.begin();
        self.begin_claims();
        self.shared.auto.begin();
    }

    /// The link went down: nothing is asked any more.
    pub(crate) fn end(&self) {
        self.end_claims();
        self.shared.auto.end();
    }

    /// Reports the groups that the host receives, and checks its new addresses, for its addresses have changed.
    pub(crate) fn addresses_changed(&mut self) {
        self.shared.listener.change();
        self.follow_claims();
    }

    /// Takes an event, if there is one.
    #[inline]
    pub(crate) fn event(&self) -> Option<Event> {
        self.shared.events.pop()
    }

    /// Time of the next call of [`Ip::poll`]; 0 if a packet from the host to itself is queued.
    #[inline]
    pub(crate) fn due(&self) -> Due {
        let Shared { listener, claims, auto, .. } = &*self.shared;
        let looped = if self.looped.is_empty() { Due::NEVER } else { Due::NOW };
        let own = looped.min(self.link.due()).min(self.reassembly.poll_timeout().map_or(Due::NEVER, Due::at));
        own.min(listener.due()).min(claims.due().min(auto.due()))
    }
}
