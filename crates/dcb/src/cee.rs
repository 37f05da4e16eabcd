//! DCBX of CEE 1.01: numbered settings that each end acknowledges, and a machine for each feature.

use crate::counters::TlvDrop;
use crate::settings::{Application, Classes, Selection, Selector, Settings, distinct};
use crate::table::{Table, Version};
use linerate_wire::{Cee, CeeApplication, CeeControl, CeeFeature, CeeGroups, CeePfc, LldpTlv, Priority, cee_selector};

/// The only version of control and features.
const VERSION: u8 = 0;
/// The group of strict priority.
const STRICT: u8 = 15;
/// Number of classes, of groups and of classes with flow control.
const CLASSES: u8 = 8;

/// CEE's DCBX: each feature's header and settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeardCee {
    /// Numbers of the settings.
    pub control: CeeControl,
    /// Priority groups.
    pub classes: Option<(CeeFeature, Classes)>,
    /// Flow control.
    pub pfc: Option<(CeeFeature, u8)>,
    /// Priorities of applications.
    pub applications: Option<(CeeFeature, Vec<Application>)>,
}

/// Numbers of the settings (DCBX 1.01, control state machine).
#[derive(Debug, Clone, Default)]
pub(crate) struct Control {
    /// Number of what was told last.
    sequence: u32,
    /// Number of the peer's that was seen last.
    acknowledged: u32,
    /// Features that were told last.
    told: Option<Cee>,
}

impl Control {
    /// Takes note of what the peer has; a peer that begins anew finds us doing the same.
    pub(crate) fn hear(&mut self, peer: Option<&HeardCee>) {
        match peer {
            None if self.acknowledged > 0 => *self = Self::default(),
            None => {}
            Some(peer) => self.acknowledged = peer.control.sequence,
        }
    }

    /// TLV that the peer is told. Other settings have another number, and wait until the last number was acknowledged.
    pub(crate) fn tlv(&mut self, settings: &Settings, operative: &Table, peer: Option<&HeardCee>) -> LldpTlv<'static> {
        let seen = peer.is_none_or(|peer| peer.control.acknowledged == self.sequence);
        let wanted = features(settings, operative);
        let mut cee = match self.told.take() {
            Some(told) if !seen || (Cee { control: told.control, ..wanted.clone() }) == told => told,
            _ => {
                self.sequence = self.sequence.wrapping_add(1);
                wanted
            }
        };
        cee.control.sequence = self.sequence;
        cee.control.acknowledged = self.acknowledged;
        self.told = Some(cee.clone());
        LldpTlv::Cee(cee)
    }
}

/// Local settings as CEE has them: groups for classes, 15 for those of strict priority; a port is TCP's and UDP's at once, and
/// there are no code points.
fn features(settings: &Settings, operative: &Table) -> Cee {
    let header = |error| CeeFeature {
        version: VERSION,
        max_version: VERSION,
        enabled: true,
        willing: settings.willing,
        error,
        subtype: 0,
    };
    let Classes { of, selection } = settings.classes;
    let group = |class: u8| if selection[usize::from(class)] == Selection::Strict { STRICT } else { class };
    let applications = entries(&settings.applications);
    Cee {
        control: CeeControl { version: VERSION, max_version: VERSION, sequence: 0, acknowledged: 0 },
        groups: Some(CeeGroups {
            feature: header(false),
            groups: of.map(group),
            shares: selection.map(|selection| selection.share().unwrap_or(0)),
            max_classes: CLASSES,
        }),
        pfc: Some(CeePfc { feature: header(operative.conflict.pfc), enabled: settings.pfc, max_classes: CLASSES }),
        applications: (!applications.is_empty()).then(|| (header(operative.conflict.applications), applications)),
    }
}

/// An entry for each application that CEE can name, with all its priorities.
fn entries(applications: &[Application]) -> Vec<CeeApplication> {
    let mut all: Vec<CeeApplication> = Vec::new();
    for app in applications {
        let selector = match app.selector {
            Selector::EtherType if app.protocol != 0 => cee_selector::ETHERTYPE,
            Selector::Stream | Selector::Datagram | Selector::Any => cee_selector::PORT,
            Selector::EtherType | Selector::Dscp => continue,
        };
        let entry = CeeApplication::new(selector, app.protocol, app.priority.bit());
        if all.iter().all(|other| (other.selector, other.protocol) != (selector, app.protocol)) {
            all.push(entry);
        }
    }
    all.sort_by_key(|entry| (entry.selector, entry.protocol));
    all
}

/// Contents of a TLV.
pub(crate) fn heard(tlv: &Cee) -> Result<HeardCee, TlvDrop> {
    let headers = [tlv.groups.map(|f| f.feature), tlv.pfc.map(|f| f.feature), tlv.applications.as_ref().map(|f| f.0)];
    let versions = headers.into_iter().flatten().map(|feature| feature.version);
    if versions.chain([tlv.control.version]).any(|version| version != VERSION) {
        return Err(TlvDrop::Version);
    }
    let applications = tlv.applications.as_ref().map(|(feature, entries)| {
        let own = entries
            .iter()
            .filter(|entry| **entry == CeeApplication::new(entry.selector, entry.protocol, entry.priorities));
        let apps = own.filter(|entry| entry.priorities != 0).map(application).collect::<Result<Vec<_>, _>>()?;
        Ok((*feature, distinct(apps.into_iter().flatten().collect())?))
    });
    Ok(HeardCee {
        control: tlv.control,
        classes: tlv.groups.map(|groups| classes(&groups).map(|classes| (groups.feature, classes))).transpose()?,
        pfc: tlv.pfc.map(|pfc| (pfc.feature, pfc.enabled)),
        applications: applications.transpose()?,
    })
}

/// None for a selector that is reserved.
fn application(entry: &CeeApplication) -> Result<Option<Application>, TlvDrop> {
    let selector = match entry.selector {
        cee_selector::ETHERTYPE => Selector::EtherType,
        cee_selector::PORT => Selector::Any,
        _ => return Ok(None),
    };
    let mut priorities = Priority::ALL.into_iter().filter(|priority| entry.priorities & priority.bit() != 0);
    match (priorities.next(), priorities.next()) {
        (Some(priority), None) => Ok(Some(Application { selector, protocol: entry.protocol, priority })),
        _ => Err(TlvDrop::ApplicationTwice),
    }
}

/// Groups as classes: those of strict priority are the highest class that is free.
fn classes(groups: &CeeGroups) -> Result<Classes, TlvDrop> {
    if groups.groups.iter().any(|group| *group >= CLASSES && *group != STRICT) {
        return Err(TlvDrop::Class);
    }
    let used = |class: u8| groups.groups.contains(&class) || groups.shares[usize::from(class)] > 0;
    let strict = (0..CLASSES).rev().find(|class| !used(*class));
    if strict.is_none() && groups.groups.contains(&STRICT) {
        return Err(TlvDrop::Class);
    }
    let mut selection = [Selection::Strict; 8];
    for class in (0..CLASSES).filter(|class| used(*class)) {
        selection[usize::from(class)] = Selection::Ets(groups.shares[usize::from(class)]);
    }
    let classes =
        Classes { of: groups.groups.map(|group| if group == STRICT { strict.unwrap_or(0) } else { group }), selection };
    classes.fault().map_or(Ok(classes), Err)
}

/// Whose settings a feature has in the end.
enum Whose {
    Ours,
    Theirs,
    /// Neither: both are as willing, and differ.
    Neither,
}

/// A feature's machine (DCBX 1.01, feature state machine).
fn whose(willing: bool, peer: CeeFeature, compatible: bool) -> Whose {
    match (willing, peer.willing) {
        _ if !peer.enabled => Whose::Ours,
        (true, false) if !peer.error => Whose::Theirs,
        (false, true) | (true, false) => Whose::Ours,
        _ if compatible => Whose::Ours,
        _ => Whose::Neither,
    }
}

/// Operative settings with a peer. A feature whose settings do not go together is off where it takes two (flow control), and
/// ours where it does not.
pub(crate) fn negotiate(settings: &Settings, peer: &HeardCee) -> Table {
    let mut table = Table::with(settings, Some(Version::Cee));
    if let Some((feature, classes)) = peer.classes
        && let Whose::Theirs = whose(settings.willing, feature, true)
    {
        table.classes = classes;
        table.taken.classes = true;
    }
    if let Some((feature, pfc)) = peer.pfc {
        match whose(settings.willing, feature, pfc == settings.pfc) {
            Whose::Ours => {}
            Whose::Theirs => {
                table.pfc = pfc;
                table.taken.pfc = true;
            }
            Whose::Neither => {
                table.pfc = 0;
                table.conflict.pfc = true;
            }
        }
    }
    if let Some((feature, theirs)) = &peer.applications {
        match whose(settings.willing, *feature, entries(theirs) == entries(&settings.applications)) {
            Whose::Ours => {}
            Whose::Theirs => table.take(theirs),
            Whose::Neither => table.conflict.applications = true,
        }
    }
    table
}
