//! Data Center Bridging of an interface, as its driver and its DCBX agent tell it (dcbnl, linux/dcbnl.h: DCB_CMD_IEEE_GET).
//!
//! A structure that is shorter than the kernel's is not there; of a longer one the known part counts.

use super::fields::{Rows, byte};
use super::source::{Question, Source, Subject, nonsense, one};
use crate::absent::Part;
use crate::netlink::message::{attribute, attributes, half, long, word};
use serde::{Serialize, Serializer};
use std::fmt;

/// `struct dcbmsg`: family, command, padding.
pub(crate) const HEADER: usize = 4;
// enum dcbnl_attrs
pub(crate) const DCB_ATTR_IFNAME: u16 = 1;
pub(crate) const DCB_ATTR_IEEE: u16 = 13;
pub(crate) const DCB_ATTR_DCBX: u16 = 14;
// enum ieee_attrs
pub(crate) const ETS: u16 = 1;
pub(crate) const PFC: u16 = 2;
pub(crate) const APP_TABLE: u16 = 3;
const PEER_ETS: u16 = 4;
const PEER_PFC: u16 = 5;
const PEER_APP: u16 = 6;
pub(crate) const MAXRATE: u16 = 7;
pub(crate) const BUFFER: u16 = 10;
/// DCB_ATTR_IEEE_APP, of IEEE's selectors, and DCB_ATTR_DCB_APP, of others.
pub(crate) const APP: u16 = 1;
const OTHER_APP: u16 = 2;

/// Bytes of `struct ieee_ets`, `ieee_pfc`, `ieee_maxrate` and `dcbnl_buffer`.
pub(crate) const ETS_BYTES: usize = 59;
pub(crate) const PFC_BYTES: usize = 136;
pub(crate) const MAXRATE_BYTES: usize = 64;
pub(crate) const BUFFER_BYTES: usize = 44;

/// Names of transmission selection algorithms (IEEE 802.1Q-2022, table 8-6), in the words of iproute2's `dcb`.
pub(crate) const ALGORITHMS: [(u8, &str); 4] = [(0, "strict"), (1, "cbs"), (2, "ets"), (255, "vendor")];
/// Words of iproute2's `dcb` for DCBX (DCB_CAP_DCBX_HOST and its like), by their bits.
pub(crate) const MODES: [(u8, &str); 5] = [(1, "host"), (2, "lld-managed"), (4, "cee"), (8, "ieee"), (16, "static")];

/// All that is told about one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dcb {
    /// Who negotiates, and by which versions of DCBX.
    pub dcbx: Option<Dcbx>,
    pub ets: Option<Ets>,
    pub pfc: Option<Pfc>,
    pub app: Vec<App>,
    pub buffer: Option<Buffer>,
    /// Rate that a class is held to, kbit/s; 0 for no limit.
    pub maxrate: Option<[u64; 8]>,
    pub peer: Peer,
}

/// Settings that the peer has announced, if the driver or its firmware negotiates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Peer {
    pub ets: Option<Ets>,
    pub pfc: Option<Pfc>,
    pub app: Vec<App>,
}

/// Bits of DCB_CAP_DCBX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dcbx(pub u8);

/// Traffic classes (`struct ieee_ets`); a number each for priorities or classes 0 to 7.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Ets {
    pub willing: bool,
    /// Number of classes that can have a share.
    pub ets_cap: u8,
    /// The credit-based shaper is there.
    pub cbs: bool,
    /// Percent of what strict classes leave, sent and received.
    pub tc_bw: [u8; 8],
    pub pg_bw: [u8; 8],
    #[serde(serialize_with = "algorithms")]
    pub tc_tsa: [u8; 8],
    pub prio_tc: [u8; 8],
    /// Recommendation to the peer.
    pub reco_tc_bw: [u8; 8],
    #[serde(serialize_with = "algorithms")]
    pub reco_tc_tsa: [u8; 8],
    pub reco_prio_tc: [u8; 8],
}

/// Priority-based flow control (`struct ieee_pfc`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pfc {
    /// Number of priorities that can be lossless at once.
    pub pfc_cap: u8,
    /// A bit for each lossless priority.
    pub enabled: u8,
    pub macsec_bypass: bool,
    /// Allowance for the round trip on the link, bits.
    pub delay: u16,
    /// Pause frames sent and received, by priority.
    pub requests: [u64; 8],
    pub indications: [u64; 8],
}

impl Pfc {
    /// Names of a priority's counters.
    #[must_use]
    pub fn names(priority: usize) -> [String; 2] {
        ["requests", "indications"].map(|name| format!("pfc_{name}_{priority}"))
    }

    /// Pause frames by priority, named.
    pub(super) fn counters(&self) -> Rows {
        let of = |at: usize| Self::names(at).into_iter().zip([self.requests[at], self.indications[at]]);
        Rows((0..8).flat_map(of).collect())
    }
}

/// Buffers for received frames (`struct dcbnl_buffer`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Buffer {
    /// Buffer of each priority.
    pub prio_buffer: [u8; 8],
    /// Bytes of each buffer, and of all.
    pub buffer_size: [u32; 8],
    pub total_size: u32,
}

/// Priority of an application (`struct dcb_app`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct App {
    /// Meaning of `protocol` (IEEE 802.1Q-2022, table D-9).
    pub selector: u8,
    pub protocol: u16,
    pub priority: u8,
}

/// Selectors by number, in the words of iproute2's `dcb`; EtherType 0 is the default.
const SELECTORS: [&str; 6] = ["", "ethtype", "stream-port", "dgram-port", "port", "dscp"];

impl App {
    /// The same application, whatever its priority.
    #[must_use]
    pub const fn key(&self) -> (u8, u16) {
        (self.selector, self.protocol)
    }

    /// Word for the meaning of `protocol`; the number of one without a word.
    #[must_use]
    pub fn selector(&self) -> String {
        let name = SELECTORS.get(usize::from(self.selector)).filter(|name| !name.is_empty());
        name.map_or_else(|| self.selector.to_string(), |name| (*name).to_owned())
    }

    /// Reads an application as [`App`]'s text has it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (application, priority) = text.rsplit_once(':')?;
        let priority = priority.parse().ok().filter(|priority| *priority < 8)?;
        if application == "default" {
            return Some(Self { selector: 1, protocol: 0, priority });
        }
        let (selector, protocol) = application.split_once(' ')?;
        let known = SELECTORS.iter().skip(1).position(|name| *name == selector).map(|at| at + 1);
        let selector = known.map_or_else(|| selector.parse().ok(), |at| u8::try_from(at).ok())?;
        let hex = protocol.strip_prefix("0x").map(|digits| u16::from_str_radix(digits, 16));
        let protocol = hex.unwrap_or_else(|| protocol.parse()).ok()?;
        Some(Self { selector, protocol, priority })
    }

    fn parse(value: &[u8]) -> Option<Self> {
        let whole = value.get(..4)?;
        Some(Self { selector: whole[0], priority: whole[1], protocol: half(whole, 2) })
    }

    /// `struct dcb_app`.
    pub(crate) fn bytes(self) -> Vec<u8> {
        [&[self.selector, self.priority], &self.protocol.to_ne_bytes()[..]].concat()
    }
}

impl fmt::Display for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { selector, protocol, priority } = *self;
        match selector {
            1 if protocol == 0 => write!(f, "default:{priority}"),
            1 => write!(f, "ethtype {protocol:#06x}:{priority}"),
            _ => write!(f, "{} {protocol}:{priority}", self.selector()),
        }
    }
}

impl Dcbx {
    /// True if a program of the host negotiates.
    #[must_use]
    pub const fn by_host(self) -> bool {
        self.0 & 1 != 0
    }
}

impl fmt::Display for Dcbx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = MODES.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, word)| (*word).to_owned());
        let rest = MODES.iter().fold(self.0, |rest, (bit, _)| rest & !bit);
        let words: Vec<String> = known.chain((rest != 0).then(|| format!("{rest:#04x}"))).collect();
        f.write_str(&if words.is_empty() { "none".to_owned() } else { words.join(",") })
    }
}

impl Serialize for Dcbx {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Name of an algorithm; a number without one is the number.
#[must_use]
pub fn algorithm(number: u8) -> String {
    let known = ALGORITHMS.iter().find(|(known, _)| *known == number);
    known.map_or_else(|| number.to_string(), |(_, name)| (*name).to_owned())
}

fn algorithms<S: Serializer>(numbers: &[u8; 8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(numbers.iter().map(|number| algorithm(*number)))
}

/// Reads what an interface's driver tells.
///
/// # Errors
/// EOPNOTSUPP if it offers no DCB.
pub fn dcb(source: &mut dyn Source, subject: &Subject) -> Part<Dcb> {
    parse(&one(source, Question::Dcb, subject)?).ok_or_else(nonsense)
}

/// A structure of an answer, if all of it is there.
pub(crate) fn structure(answer: &[u8], kind: u16) -> Option<&[u8]> {
    let least = match kind {
        ETS | PEER_ETS => ETS_BYTES,
        PFC | PEER_PFC => PFC_BYTES,
        MAXRATE => MAXRATE_BYTES,
        BUFFER => BUFFER_BYTES,
        _ => 0,
    };
    attribute(ieee(answer)?, kind).filter(|value| value.len() >= least)
}

fn ieee(answer: &[u8]) -> Option<&[u8]> {
    attribute(answer.get(HEADER..)?, DCB_ATTR_IEEE)
}

/// Parses DCB_CMD_IEEE_GET's answer: `struct dcbmsg` and its attributes.
pub(crate) fn parse(answer: &[u8]) -> Option<Dcb> {
    ieee(answer)?;
    let apps = |kind| structure(answer, kind).map(apps).unwrap_or_default();
    Some(Dcb {
        dcbx: byte(answer.get(HEADER..)?, DCB_ATTR_DCBX).map(Dcbx),
        ets: structure(answer, ETS).and_then(ets),
        pfc: structure(answer, PFC).and_then(pfc),
        app: apps(APP_TABLE),
        buffer: structure(answer, BUFFER).map(|value| Buffer {
            prio_buffer: value.first_chunk().copied().unwrap_or_default(),
            buffer_size: std::array::from_fn(|at| word(value, 8 + 4 * at)),
            total_size: word(value, 40),
        }),
        maxrate: structure(answer, MAXRATE).map(|value| std::array::from_fn(|at| long(value, 8 * at))),
        peer: Peer {
            ets: structure(answer, PEER_ETS).and_then(ets),
            pfc: structure(answer, PEER_PFC).and_then(pfc),
            app: apps(PEER_APP),
        },
    })
}

/// Applications of a table.
pub(crate) fn apps(table: &[u8]) -> Vec<App> {
    let ours = attributes(table).filter(|(kind, _)| matches!(*kind, APP | OTHER_APP));
    ours.filter_map(|(_, value)| App::parse(value)).collect()
}

fn ets(value: &[u8]) -> Option<Ets> {
    let eight = |at: usize| value.get(at..)?.first_chunk().copied();
    Some(Ets {
        willing: value[0] != 0,
        ets_cap: value[1],
        cbs: value[2] != 0,
        tc_bw: eight(3)?,
        pg_bw: eight(11)?,
        tc_tsa: eight(19)?,
        prio_tc: eight(27)?,
        reco_tc_bw: eight(35)?,
        reco_tc_tsa: eight(43)?,
        reco_prio_tc: eight(51)?,
    })
}

fn pfc(value: &[u8]) -> Option<Pfc> {
    let (head, _) = value.split_at_checked(8)?;
    Some(Pfc {
        pfc_cap: head[0],
        enabled: head[1],
        macsec_bypass: head[2] != 0,
        delay: half(head, 4),
        requests: std::array::from_fn(|at| long(value, 8 + 8 * at)),
        indications: std::array::from_fn(|at| long(value, 72 + 8 * at)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    /// An answer with all there is; the bytes are those that struct ieee_ets and the others have in the kernel's header.
    fn answer() -> Vec<u8> {
        let mut pfc = vec![8, 0x08, 1, 0, 0x34, 0x12, 0, 0];
        pfc.extend((0..16_u64).flat_map(u64::to_ne_bytes));
        let hex = linerate_text::hex(&pfc);
        let ets = "010801 3c28000000000000 6400000000000000 0202000000000000 0000000100000000 0000000000000000 00000000000000ff 0000000000000007";
        let buffer = "0000000100000000 00000100 00000200 000000000000000000000000000000000000000000000000 00000300";
        let rate = format!("8096980000000000 {} 0100000000000000", "00".repeat(48));
        let text = format!(
            "message\nraw hex 00150000\n1 text eth0\n13 {{\n1 hex {ets}\n2 hex {hex}\n10 hex {buffer}\n7 hex {rate}\n\
             3 {{\n1 hex 01030689\n1 hex 0505 2e00\n2 hex ff010200\n}}\n4 hex {ets}\n5 hex {hex}\n6 {{\n1 hex 01040689\n}}\n}}\n14 u8 9\n"
        );
        read(&text).unwrap().remove(0)
    }

    #[test]
    fn every_field_is_at_its_place() {
        let dcb = parse(&answer()).unwrap();
        let ets = dcb.ets.as_ref().unwrap();
        assert_eq!((ets.willing, ets.ets_cap, ets.cbs), (true, 8, true));
        assert_eq!(
            (&ets.tc_bw[..3], &ets.pg_bw[..2], &ets.tc_tsa[..3]),
            (&[60, 40, 0][..], &[100, 0][..], &[2, 2, 0][..])
        );
        assert_eq!((ets.prio_tc[3], ets.reco_tc_tsa[7], ets.reco_prio_tc[7]), (1, 255, 7));
        let pfc = dcb.pfc.as_ref().unwrap();
        assert_eq!((pfc.pfc_cap, pfc.enabled, pfc.macsec_bypass, pfc.delay), (8, 8, true, 0x1234));
        assert_eq!((pfc.requests[7], pfc.indications[0], pfc.indications[7]), (7, 8, 15));
        let buffer = dcb.buffer.as_ref().unwrap();
        assert_eq!((buffer.prio_buffer[3], buffer.buffer_size[1], buffer.total_size), (1, 0x20000, 0x30000));
        let maxrate = dcb.maxrate.unwrap();
        assert_eq!((maxrate[0], maxrate[6], maxrate[7]), (10_000_000, 0, 1));
        let apps: Vec<String> = dcb.app.iter().map(App::to_string).collect();
        assert_eq!(apps, ["ethtype 0x8906:3", "dscp 46:5", "255 2:1"]);
        assert_eq!(apps.iter().map(|text| App::read(text).unwrap()).collect::<Vec<_>>(), dcb.app);
        assert_eq!((&dcb.peer.ets, &dcb.peer.pfc, dcb.peer.app[0].priority), (&dcb.ets, &dcb.pfc, 4));
        assert_eq!(
            (dcb.dcbx.unwrap().to_string(), Dcbx(0).to_string(), Dcbx(0x41).to_string()),
            ("host,ieee".into(), "none".into(), "host,0x40".into())
        );
        let json = serde_json::to_value(&dcb).unwrap();
        assert_eq!((&json["dcbx"], &json["ets"]["tc_tsa"][1]), (&"host,ieee".into(), &"ets".into()));
    }

    /// Of an answer that is cut anywhere, or has any byte bent, what is told is what is there.
    #[test]
    fn damaged_answers_lose_parts_and_nothing_else() {
        let (whole, wanted) = (answer(), parse(&answer()).unwrap());
        for end in 0..whole.len() {
            let Some(dcb) = parse(&whole[..end]) else { continue };
            assert!([&dcb.ets, &dcb.peer.ets].iter().all(|ets| ets.is_none() || **ets == wanted.ets), "{end}");
            assert!([&dcb.pfc, &dcb.peer.pfc].iter().all(|pfc| pfc.is_none() || **pfc == wanted.pfc), "{end}");
            assert!(dcb.app.iter().all(|app| wanted.app.contains(app)), "{end}");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 3, 4, 5, 0x40, 0x7f, 0xff] {
                let mut bent = whole.clone();
                bent[at] = value;
                parse(&bent);
            }
        }
        // Structures that are shorter than the kernel's.
        let short =
            read("message\nraw hex 00150000\n13 {\n1 hex 01\n2 hex 0808\n3 {\n1 hex 0103\n}\n7 u64 1\n10 u32 1\n}\n")
                .unwrap();
        assert_eq!(parse(&short[0]), Some(Dcb::default()));
        assert_eq!((parse(&[]), parse(&[0; 4]), parse(&whole[..3])), (None, None, None));
    }

    #[test]
    fn what_is_no_application_is_refused() {
        for text in [
            "",
            "default",
            "default:8",
            "ethtype:3",
            "ethtype 0x8906",
            "ethtype 0x8906:8",
            "x 1:1",
            "dscp 65536:1",
            "256 1:1",
        ] {
            assert_eq!(App::read(text), None, "{text}");
        }
        assert_eq!(App::read("default:1").map(|app| app.key()), Some((1, 0)));
    }
}
