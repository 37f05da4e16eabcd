//! Link modes, speed and port (LINKMODES_GET, LINKINFO_GET), and the link's state with its reason (LINKSTATE_GET).

use super::fields::{byte, truth, whole};
use crate::ethtool::bitset;
use crate::netlink::message::attribute;
use serde::Serialize;

/// Speed, duplex, and the modes of both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Modes {
    /// Speeds are agreed with the partner.
    pub autonegotiation: Option<bool>,
    /// Mb/s; none if there is no link, or the driver has no such number.
    pub speed: Option<u32>,
    /// `full` or `half`.
    pub duplex: Option<&'static str>,
    pub lanes: Option<u32>,
    /// Names of ports, modes, pause and FEC that the interface supports.
    pub supported: Vec<String>,
    pub advertised: Vec<String>,
    /// Those that the partner advertises; none if the driver does not say.
    pub partner: Option<Vec<String>>,
}

/// Connector and transceiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PortInfo {
    /// Connector, by ethtool's name.
    pub port: Option<&'static str>,
    /// Address of the PHY.
    pub phy: Option<u8>,
    /// `internal` or `external`.
    pub transceiver: Option<&'static str>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LinkDetail {
    /// The other end was detected.
    pub detected: Option<bool>,
    /// Reason for which there is no link.
    pub reason: Option<String>,
    pub detail: Option<String>,
    /// Signal quality, and the best there is.
    pub quality: Option<(u32, u32)>,
    /// Times that the link went down (by the driver's count).
    pub downs: Option<u32>,
}

/// PORT_TP … of linux/ethtool.h.
const PORTS: &[(u8, &str)] = &[
    (0, "Twisted Pair"),
    (1, "AUI"),
    (2, "MII"),
    (3, "FIBRE"),
    (4, "BNC"),
    (5, "Direct Attach Copper"),
    (0xef, "None"),
    (0xff, "Other"),
];

/// `enum ethtool_link_ext_state`, with its details.
const REASONS: &[(&str, &[&str])] = &[
    (
        "Autoneg",
        &[
            "No partner detected",
            "Ack not received",
            "Next page exchange failed",
            "No partner detected during force mode",
            "FEC mismatch during override",
            "No HCD",
        ],
    ),
    (
        "Link training failure",
        &[
            "KR frame lock not acquired",
            "KR link inhibit timeout",
            "KR Link partner did not set receiver ready",
            "Remote fault",
        ],
    ),
    (
        "Logical mismatch",
        &[
            "PCS did not acquire block lock",
            "PCS did not acquire AM lock",
            "PCS did not get align_status",
            "FC FEC is not locked",
            "RS FEC is not locked",
        ],
    ),
    (
        "Bad signal integrity",
        &["Large number of physical errors", "Unsupported rate", "Serdes reference clock lost", "Serdes ALOS"],
    ),
    ("No cable", &[]),
    ("Cable issue", &["Unsupported cable", "Cable test failure"]),
    ("EEPROM issue", &[]),
    ("Calibration failure", &[]),
    ("Power budget exceeded", &[]),
    ("Overheat", &[]),
    ("Module", &["CMIS module is not in ModuleReady state"]),
    ("OTP speed violation", &[]),
    ("BMC request, host link down", &[]),
];

/// Parses LINKMODES_GET's answer.
pub(crate) fn modes(answer: &[u8]) -> Modes {
    let unknown = |value: &u32| *value != u32::MAX && *value != 0;
    let ours = attribute(answer, 3).map(bitset::parse).unwrap_or_default();
    Modes {
        autonegotiation: truth(answer, 2),
        speed: whole(answer, 5).filter(unknown),
        duplex: match byte(answer, 6) {
            Some(0) => Some("half"),
            Some(1) => Some("full"),
            _ => None,
        },
        lanes: whole(answer, 9).filter(|lanes| *lanes != 0),
        supported: ours.iter().map(|(name, _)| name.clone()).collect(),
        advertised: ours.iter().filter(|(_, on)| *on).map(|(name, _)| name.clone()).collect(),
        partner: attribute(answer, 4).map(bitset::on),
    }
}

/// Parses LINKINFO_GET's answer.
pub(crate) fn port(answer: &[u8]) -> PortInfo {
    PortInfo {
        port: byte(answer, 2)
            .map(|port| PORTS.iter().find(|(number, _)| *number == port).map_or("Unknown", |(_, name)| name)),
        phy: byte(answer, 3),
        transceiver: match byte(answer, 6) {
            Some(0) => Some("internal"),
            Some(1) => Some("external"),
            _ => None,
        },
    }
}

/// Parses LINKSTATE_GET's answer.
pub(crate) fn state(answer: &[u8]) -> LinkDetail {
    let known = byte(answer, 5).map(|state| (state, REASONS.get(usize::from(state))));
    let detail = byte(answer, 6).filter(|detail| *detail != 0).map(|detail| {
        let name = known.and_then(|(_, row)| row?.1.get(usize::from(detail) - 1));
        name.map_or_else(|| format!("detail {detail}"), |name| (*name).to_owned())
    });
    LinkDetail {
        detected: truth(answer, 2),
        reason: known.map(|(state, row)| row.map_or_else(|| format!("reason {state}"), |row| row.0.to_owned())),
        detail,
        quality: whole(answer, 3).zip(whole(answer, 4)),
        downs: whole(answer, 7),
    }
}
