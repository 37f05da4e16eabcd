//! Ethernet II frames, without preamble and frame check sequence.

use std::fmt;
use std::str::FromStr;

use crate::Error;
use crate::field::{newtype, payload, values, view};

const NAME: &str = "ethernet";

view! {
    /// A view of an Ethernet frame (IEEE 802.3-2022, clause 3).
    EthernetFrame, HEADER_LEN = 14 "Bytes of the header.";
    =>
    /// An Ethernet header.
    EthernetRepr;
    0 pub dst set_dst: MacAddr = "The station or group the frame is for.";
    6 pub src set_src: MacAddr = "The station that sent the frame.";
    12 pub ethertype set_ethertype: EtherType = "The type of the payload; a VLAN tag's when the frame is tagged.";
}

payload!(EthernetFrame, "All bytes after the header, padding included.");
newtype!(MacAddr([u8; 6]));

/// A MAC address (EUI-48), in the order its bytes are sent.
///
/// ```
/// use linerate_wire::MacAddr;
///
/// let mac: MacAddr = "0A-1B-2C-3D-4E-5F".parse()?;
/// assert_eq!(mac, MacAddr([0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f]));
/// assert_eq!(mac.to_string(), "0a:1b:2c:3d:4e:5f");
/// # Ok::<(), linerate_wire::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// All stations: ff:ff:ff:ff:ff:ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// No station: 00:00:00:00:00:00.
    pub const UNSPECIFIED: Self = Self([0; 6]);

    /// True if this is the broadcast address.
    pub const fn is_broadcast(self) -> bool {
        matches!(self.0, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff])
    }

    /// True if this names a group of stations (I/G bit); broadcast is such a group.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }

    /// True if this was assigned locally, not by a manufacturer (U/L bit).
    pub const fn is_local(self) -> bool {
        self.0[0] & 2 != 0
    }
}

impl fmt::Display for MacAddr {
    /// Lower-case pairs between colons.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for MacAddr {
    type Err = Error;

    /// Reads six pairs of hexadecimal digits, all separated by `:` or all by `-`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let separator = if text.contains('-') { '-' } else { ':' };
        let mut bytes = [0; 6];
        let mut pairs = text.split(separator);
        for byte in &mut bytes {
            let pair = pairs.next().filter(|pair| pair.len() == 2 && pair.bytes().all(|c| c.is_ascii_hexdigit()));
            *byte = pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).ok_or(Error::MacAddr)?;
        }
        if pairs.next().is_some() { Err(Error::MacAddr) } else { Ok(Self(bytes)) }
    }
}

impl From<[u8; 6]> for MacAddr {
    fn from(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }
}

values! {
    /// The type of an Ethernet payload (IANA, IEEE 802 Numbers).
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub struct EtherType(u16), name;
    IPV4 = 0x0800, "Internet Protocol version 4." as "IPv4";
    ARP = 0x0806, "Address Resolution Protocol." as "ARP";
    CNM = 0x22e7, "Congestion notification message (IEEE 802.1Q, clause 33)." as "CNM";
    CN_TAG = 0x22e9, "Congestion notification tag (IEEE 802.1Q, clause 33)." as "CN-TAG";
    VLAN = 0x8100, "Customer VLAN tag (IEEE 802.1Q)." as "802.1Q";
    IPV6 = 0x86dd, "Internet Protocol version 6." as "IPv6";
    MAC_CONTROL = 0x8808, "MAC control: PAUSE and priority-based flow control (IEEE 802.3, annex 31)." as "MAC control";
    QINQ = 0x88a8, "Service VLAN tag (IEEE 802.1ad)." as "802.1ad";
    LLDP = 0x88cc, "Link Layer Discovery Protocol (IEEE 802.1AB), which carries DCBX." as "LLDP";
    FCOE = 0x8906, "Fibre Channel over Ethernet (T11 FC-BB-5)." as "FCoE";
    FIP = 0x8914, "FCoE Initialization Protocol (T11 FC-BB-5)." as "FIP";
}

impl EtherType {
    /// True if a VLAN tag follows.
    pub const fn is_vlan(self) -> bool {
        matches!(self, Self::VLAN | Self::QINQ)
    }

    /// The payload's bytes when the field is an 802.3 length (at most 1500) and not a type.
    pub const fn length(self) -> Option<u16> {
        if self.0 <= 1500 { Some(self.0) } else { None }
    }
}

impl fmt::Display for EtherType {
    /// The name, where there is one, and the number: `IPv4 (0x0800)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.name(), self.length()) {
            (Some(name), _) => write!(f, "{name} (0x{:04x})", self.0),
            (None, Some(length)) => write!(f, "802.3 length {length}"),
            (None, None) => write!(f, "ethertype 0x{:04x}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mac_addresses_read_and_write() {
        let mac = MacAddr([0xaa, 0xbb, 0xcc, 0x00, 0x01, 0x0f]);
        for text in ["aa:bb:cc:00:01:0f", "AA:BB:CC:00:01:0F", "aa-bb-cc-00-01-0f"] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        assert_eq!(mac.to_string(), "aa:bb:cc:00:01:0f");
        for text in [
            "",
            "aa",
            "aa:bb:cc:00:01",
            "aa:bb:cc:00:01:0f:",
            "aa:bb:cc:00:01:0f:22",
            "aa:bb:cc:00:01:f",
            "aa:bb-cc:00:01:0f",
            "aabbcc00010f",
            "+a:bb:cc:00:01:0f",
            "aa:bb:cc:00:01:0g",
            " aa:bb:cc:00:01:0f",
            "éa:bb:cc:00:01:0f",
        ] {
            assert_eq!(text.parse::<MacAddr>(), Err(Error::MacAddr), "{text:?}");
        }
    }

    #[test]
    fn mac_address_bits() {
        assert!(MacAddr::BROADCAST.is_broadcast() && MacAddr::BROADCAST.is_multicast());
        let group = MacAddr([0x01, 0x00, 0x5e, 0, 0, 1]);
        assert!(group.is_multicast() && !group.is_broadcast() && !group.is_local());
        assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_local() && !MacAddr::UNSPECIFIED.is_multicast());
    }

    #[test]
    fn ethertypes_name_themselves() {
        assert_eq!(EtherType::FCOE.to_string(), "FCoE (0x8906)");
        assert_eq!(EtherType(0x88b5).to_string(), "ethertype 0x88b5");
        assert_eq!(EtherType(38).to_string(), "802.3 length 38");
        assert_eq!(EtherType(1501).length(), None);
    }
}
