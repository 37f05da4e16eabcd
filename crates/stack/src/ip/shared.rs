//! State of IP that the shards of a host share. A change is made to a copy, which then takes the place of the settings:
//! each shard goes on with the settings that it knows until it sees that the generation is another one.

use super::auto::Auto;
use super::claims::Claims;
use super::icmp::Allowance;
use super::ident::Idents;
use super::mld::Listener;
use super::{Ip, Settings};
use crate::event::Events;
use crate::secret::{Secret, Use};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// State that the shards share.
#[derive(Debug)]
pub(super) struct Shared {
    settings: Mutex<Arc<Settings>>,
    /// Identifications of packets that may be fragmented.
    pub(super) idents: Idents,
    /// ICMP errors that may be sent.
    pub(super) allowance: Allowance,
    /// Reports of groups.
    pub(super) listener: Listener,
    /// Claims to addresses.
    pub(super) claims: Claims,
    /// Advertisements of routers.
    pub(super) auto: Auto,
    /// Events that nobody has taken yet.
    pub(super) events: Events,
}

impl Shared {
    pub(super) fn new(settings: Arc<Settings>, secret: Secret) -> Self {
        Self {
            settings: Mutex::new(settings),
            idents: Idents::new(secret.key(Use::Ident)),
            allowance: Allowance::default(),
            listener: Listener::new(secret.key(Use::Reports)),
            claims: Claims::new(secret.key(Use::Probes)),
            auto: Auto::new(),
            events: Events::default(),
        }
    }

    fn settings(&self) -> MutexGuard<'_, Arc<Settings>> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ip {
    /// Takes over what another shard has changed.
    #[inline]
    pub(crate) fn follow(&mut self) {
        if self.seen != Some(self.link.common.generation()) {
            self.take_over();
        }
    }

    #[cold]
    fn take_over(&mut self) {
        // First the generation: a change in between is taken over once more.
        self.seen = Some(self.link.common.generation());
        self.settings.clone_from(&self.shared.settings());
        self.link.station = self.settings.station;
    }

    /// Changes the settings of all shards, unless the change fails.
    pub(crate) fn try_change<T, E>(&mut self, edit: impl FnOnce(&mut Settings) -> Result<T, E>) -> Result<T, E> {
        let mut settings = self.shared.settings();
        let mut changed = Settings::clone(&settings);
        let done = edit(&mut changed)?;
        if changed != **settings {
            *settings = Arc::new(changed);
            self.link.common.changed();
        }
        drop(settings);
        self.follow();
        Ok(done)
    }

    /// Changes the settings of all shards.
    pub(crate) fn change<T>(&mut self, edit: impl FnOnce(&mut Settings) -> T) -> T {
        let Ok(done) = self.try_change(|settings| Ok::<_, Infallible>(edit(settings)));
        done
    }
}
