//! Local settings: what the port has without a peer, and offers to one.

use crate::congestion::Congestion;
use crate::counters::TlvDrop;
use linerate_wire::{DcbxApplication, DcbxClasses, Priority, dcbx_algorithm, dcbx_selector};
use thiserror::Error;

/// Most applications: as many as a TLV of CEE has room for.
pub const MAX_APPLICATIONS: usize = 64;

/// Number of traffic classes.
const CLASSES: usize = 8;

/// Transmission selection of a traffic class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Selection {
    /// Before all classes of lower numbers.
    #[default]
    Strict,
    /// With so many percent of what strict classes leave.
    Ets(u8),
}

/// Traffic class of each priority, and the classes' selection; by default all priorities are of class 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Classes {
    /// Class of each priority, 0 to 7.
    pub of: [u8; Priority::COUNT],
    /// Selection of each class.
    pub selection: [Selection; CLASSES],
}

impl Classes {
    /// Reason to refuse them: a class above 7, or shares that do not sum to 100.
    pub(crate) fn fault(&self) -> Option<TlvDrop> {
        let shares = || self.selection.iter().filter_map(|selection| selection.share());
        if self.of.iter().any(|class| usize::from(*class) >= CLASSES) {
            Some(TlvDrop::Class)
        } else if shares().next().is_some() && shares().map(u32::from).sum::<u32>() != 100 {
            Some(TlvDrop::Shares)
        } else {
            None
        }
    }

    pub(crate) fn from_wire(wire: &DcbxClasses) -> Result<Self, TlvDrop> {
        let mut selection = [Selection::Strict; CLASSES];
        for (class, selection) in selection.iter_mut().enumerate() {
            *selection = match wire.algorithms[class] {
                dcbx_algorithm::STRICT => Selection::Strict,
                dcbx_algorithm::ETS => Selection::Ets(wire.shares[class]),
                _ => return Err(TlvDrop::Algorithm),
            };
        }
        let classes = Self { of: wire.classes, selection };
        classes.fault().map_or(Ok(classes), Err)
    }

    pub(crate) fn wire(&self) -> DcbxClasses {
        let algorithm = |selection: Selection| match selection {
            Selection::Strict => dcbx_algorithm::STRICT,
            Selection::Ets(_) => dcbx_algorithm::ETS,
        };
        DcbxClasses {
            classes: self.of,
            shares: self.selection.map(|selection| selection.share().unwrap_or(0)),
            algorithms: self.selection.map(algorithm),
        }
    }
}

impl Selection {
    /// Percent of a class with ETS.
    #[must_use]
    pub const fn share(self) -> Option<u8> {
        match self {
            Self::Strict => None,
            Self::Ets(share) => Some(share),
        }
    }
}

/// Meaning of an application's protocol (IEEE 802.1Q-2022, table D-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Selector {
    /// An EtherType; 0 is all that have no entry of their own.
    EtherType = dcbx_selector::ETHERTYPE,
    /// A port of TCP or SCTP.
    Stream = dcbx_selector::STREAM,
    /// A port of UDP or DCCP.
    Datagram = dcbx_selector::DATAGRAM,
    /// A port of any of these.
    Any = dcbx_selector::ANY,
    /// A differentiated services code point.
    Dscp = dcbx_selector::DSCP,
}

impl Selector {
    /// All of them, by number.
    pub const ALL: [Self; 5] = [Self::EtherType, Self::Stream, Self::Datagram, Self::Any, Self::Dscp];
}

/// Priority of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Application {
    /// Meaning of `protocol`.
    pub selector: Selector,
    /// EtherType, port or code point.
    pub protocol: u16,
    /// Priority of its frames.
    pub priority: Priority,
}

impl Application {
    /// The application that has the priority.
    #[must_use]
    pub const fn key(&self) -> (Selector, u16) {
        (self.selector, self.protocol)
    }

    /// None for a selector that is reserved.
    pub(crate) fn from_wire(wire: &DcbxApplication) -> Option<Self> {
        let selector = Selector::ALL.into_iter().find(|selector| *selector as u8 == wire.selector)?;
        Some(Self { selector, protocol: wire.protocol, priority: Priority::new(wire.priority)? })
    }

    pub(crate) fn wire(&self) -> DcbxApplication {
        let (priority, selector) = (self.priority.number(), self.selector as u8);
        DcbxApplication { priority, selector, protocol: self.protocol }
    }
}

/// Application, if any, that has two priorities.
pub(crate) fn contradiction(applications: &[Application]) -> Option<&Application> {
    let contradicts = |(at, app): (usize, &Application)| {
        applications[..at].iter().any(|other| other.key() == app.key() && other.priority != app.priority)
    };
    applications.iter().enumerate().find(|(at, app)| contradicts((*at, app))).map(|(_, app)| app)
}

/// Applications without those that say the same again.
pub(crate) fn distinct(applications: Vec<Application>) -> Result<Vec<Application>, TlvDrop> {
    if contradiction(&applications).is_some() {
        return Err(TlvDrop::ApplicationTwice);
    }
    let mut all: Vec<Application> = Vec::with_capacity(applications.len());
    for app in applications {
        if !all.contains(&app) {
            all.push(app);
        }
    }
    Ok(all)
}

/// Version of DCBX to be spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dcbx {
    /// IEEE's, and CEE's as long as the peer speaks that alone.
    #[default]
    Auto,
    /// IEEE's alone.
    Ieee,
    /// CEE's alone.
    Cee,
}

/// Local settings of a port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Traffic classes.
    pub classes: Classes,
    /// Traffic classes recommended to the peer, if any.
    pub recommendation: Option<Classes>,
    /// A bit for each priority with flow control: lossless.
    pub pfc: u8,
    /// Priorities of applications.
    pub applications: Vec<Application>,
    /// The peer's settings go before ours.
    pub willing: bool,
    /// Version of DCBX.
    pub dcbx: Dcbx,
    /// Points of congestion notification.
    pub congestion: Congestion,
}

/// Reason to refuse settings.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A priority's class is above 7.
    #[error("prio-tc: priority {0} is of class {1}: give 0 to 7")]
    Class(usize, u8),
    /// Shares do not sum to 100.
    #[error("tc-bw: the shares of the ets classes sum to {0}: they must sum to 100")]
    Shares(u32),
    /// An application has two priorities.
    #[error("app: {0:#06x} is given two priorities: give one")]
    ApplicationTwice(u16),
    /// There are more applications than a TLV has room for.
    #[error("app: {0} applications: give {MAX_APPLICATIONS} at most")]
    Applications(usize),
}

impl Settings {
    /// Reports what no peer may be told.
    ///
    /// # Errors
    ///
    /// The first fault.
    pub fn check(&self) -> Result<(), SettingsError> {
        for classes in [Some(&self.classes), self.recommendation.as_ref()].into_iter().flatten() {
            match classes.fault() {
                None => {}
                Some(TlvDrop::Class) => {
                    let at = classes.of.iter().position(|class| usize::from(*class) >= CLASSES).unwrap_or(0);
                    return Err(SettingsError::Class(at, classes.of[at]));
                }
                Some(_) => {
                    let shares = classes.selection.iter().filter_map(|selection| selection.share());
                    return Err(SettingsError::Shares(shares.map(u32::from).sum()));
                }
            }
        }
        if let Some(twice) = contradiction(&self.applications) {
            return Err(SettingsError::ApplicationTwice(twice.protocol));
        }
        match self.applications.len() {
            0..=MAX_APPLICATIONS => Ok(()),
            more => Err(SettingsError::Applications(more)),
        }
    }
}
