//! The table that the negotiation ends in.

use crate::congestion::Notification;
use crate::settings::{Application, Classes, Selector, Settings};
use linerate_wire::Priority;
use std::fmt;

/// Version of DCBX that is spoken with a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// IEEE 802.1Q's.
    Ieee,
    /// CEE 1.01.
    Cee,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ieee => "ieee",
            Self::Cee => "cee",
        })
    }
}

/// Reason that nothing is negotiated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Off {
    /// No neighbour speaks DCBX, or none the version that is asked for.
    NoPeer,
    /// More than one neighbour does (IEEE 802.1Q-2022, clause 38.4.1).
    Peers(usize),
}

/// The settings that are the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Traffic classes.
    pub classes: bool,
    /// Flow control.
    pub pfc: bool,
    /// Some application.
    pub applications: bool,
}

/// Operative settings: the traffic class of each priority, the classes' selection, which priorities are lossless, and the
/// priority of applications.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Version that is spoken with a peer, if there is one.
    pub version: Option<Version>,
    /// Reason for which there is none.
    pub off: Option<Off>,
    /// Traffic classes.
    pub classes: Classes,
    /// A bit for each lossless priority.
    pub pfc: u8,
    /// Priorities of applications.
    pub applications: Vec<Application>,
    /// The peer's part of it.
    pub taken: Taken,
    /// Features of CEE whose settings do not go together at both ends.
    pub conflict: Taken,
    /// Congestion notification, which is of LLDP and not of DCBX.
    pub congestion: Notification,
}

impl Table {
    /// Local settings, as nothing is negotiated.
    pub(crate) fn local(settings: &Settings, off: Off) -> Self {
        Self { off: Some(off), ..Self::with(settings, None) }
    }

    /// Local settings, with this version.
    pub(crate) fn with(settings: &Settings, version: Option<Version>) -> Self {
        Self {
            version,
            off: None,
            classes: settings.classes,
            pfc: settings.pfc,
            applications: settings.applications.clone(),
            taken: Taken::default(),
            conflict: Taken::default(),
            congestion: Notification::new(settings.congestion, None),
        }
    }

    /// True if frames of this priority are not to be lost.
    #[must_use]
    pub const fn lossless(&self, priority: Priority) -> bool {
        self.pfc & priority.bit() != 0
    }

    /// Priority of an application: its own entry, one for a port of any transport, or the default.
    #[must_use]
    pub fn priority(&self, selector: Selector, protocol: u16) -> Option<Priority> {
        let any = matches!(selector, Selector::Stream | Selector::Datagram).then_some((Selector::Any, protocol));
        let keys = [Some((selector, protocol)), any, Some((Selector::EtherType, 0))];
        let find = |key| self.applications.iter().find(|app| app.key() == key).map(|app| app.priority);
        keys.into_iter().flatten().find_map(find)
    }

    /// Takes the peer's applications: they go before ours.
    pub(crate) fn take(&mut self, theirs: &[Application]) {
        self.taken.applications = !theirs.is_empty();
        let ours = std::mem::replace(&mut self.applications, theirs.to_vec());
        self.applications.extend(ours.into_iter().filter(|app| theirs.iter().all(|other| other.key() != app.key())));
    }
}
