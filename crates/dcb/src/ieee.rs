//! DCBX of IEEE 802.1Q-2022 (clause 38): what both ends' settings end in, and what the peer is told.

use crate::counters::TlvDrop;
use crate::settings::{Application, Classes, Settings, distinct};
use crate::table::{Table, Version};
use linerate_wire::{DcbxApplication, DcbxEts, DcbxPfc, LldpTlv, MacAddr};

/// Number of classes that may have flow control, which is all.
const PFC_CLASSES: u8 = 8;

/// IEEE's DCBX.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeardIeee {
    /// ETS Configuration: willing, and the classes in use.
    pub configuration: Option<(bool, Classes)>,
    /// ETS Recommendation.
    pub recommendation: Option<Classes>,
    /// Flow control: willing, and the priorities.
    pub pfc: Option<(bool, u8)>,
    /// Priorities of applications.
    pub applications: Option<Vec<Application>>,
}

/// Applications of a TLV, without those whose selector is reserved.
pub(crate) fn applications(entries: &[DcbxApplication]) -> Result<Vec<Application>, TlvDrop> {
    distinct(entries.iter().filter_map(Application::from_wire).collect())
}

/// Operative settings with a peer.
///
/// - ETS is asymmetric (clause 38.5.3): who is willing takes the peer's recommendation, whatever the peer is.
/// - PFC is symmetric (clause 38.5.4): who is willing takes the peer's, unless both are; then the lower MAC address's are for
///   both.
/// - Applications are informational: the TLV has no Willing bit. Who is willing lets the peer's go before its own, and
///   tells the peer of its own alone, or what was withdrawn would come back.
pub(crate) fn negotiate(settings: &Settings, mac: MacAddr, peer: &HeardIeee, peer_mac: MacAddr) -> Table {
    let mut table = Table::with(settings, Some(Version::Ieee));
    if !settings.willing {
        return table;
    }
    if let Some(classes) = peer.recommendation {
        table.classes = classes;
        table.taken.classes = true;
    }
    if let Some((willing, pfc)) = peer.pfc
        && (!willing || peer_mac < mac)
    {
        table.pfc = pfc;
        table.taken.pfc = true;
    }
    table.take(peer.applications.as_deref().unwrap_or_default());
    table
}

/// TLVs that the peer is told: what is operative, and what is recommended.
pub(crate) fn tlvs(settings: &Settings, operative: &Table) -> Vec<LldpTlv<'static>> {
    let classes = operative.classes.wire();
    let mut tlvs =
        vec![LldpTlv::EtsConfiguration(DcbxEts { willing: settings.willing, credit: false, max_classes: 0, classes })];
    tlvs.extend(settings.recommendation.map(|classes| LldpTlv::EtsRecommendation(classes.wire())));
    tlvs.push(LldpTlv::Pfc(DcbxPfc {
        willing: settings.willing,
        bypass: false,
        max_classes: PFC_CLASSES,
        enabled: operative.pfc,
    }));
    if !settings.applications.is_empty() {
        tlvs.push(LldpTlv::Applications(settings.applications.iter().map(Application::wire).collect()));
    }
    tlvs
}
