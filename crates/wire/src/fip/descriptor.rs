//! The descriptors that FIP frames are made of.

use crate::field::{array_at, put, put_u16, u16_at, u32_at};
use crate::{Error, FcHeader, FcId, MacAddr, Wwn};

const NAME: &str = "fip descriptor";

/// Types from here on are not critical: who does not know one skips it (FC-BB-6, clause 7, FIP descriptor types).
const NOT_CRITICAL: u8 = 128;

/// Offsets of the fields of descriptors (FC-BB-6, clause 7, FIP descriptors).
mod field {
    pub(super) const TYPE: usize = 0;
    /// Place where a value begins that needs no alignment: a MAC address, a number of 16 bits.
    pub(super) const VALUE: usize = 2;
    /// The last byte of the first word: a priority, the D bit of FKA_ADV_Period.
    pub(super) const LAST_BYTE: usize = 3;
    /// Place where a value begins that is aligned to words: names, identifiers of vendors, FC headers, TYPEs.
    pub(super) const WORD: usize = 4;
    pub(super) const FC_MAP: usize = 5;
    pub(super) const FABRIC_NAME: usize = 8;
    pub(super) const VN_PORT_ID: usize = 9;
    pub(super) const VN_PORT_NAME: usize = 12;
    /// The features of the FC-4 TYPEs, behind the eight words of TYPEs.
    pub(super) const FEATURES: usize = 36;
}

/// A descriptor (FC-BB-6, clause 7, FIP descriptors): a type, a length in words that counts both, and the value.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     type      | length, words |  value …
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FipDescriptor<'a> {
    /// Type 1: how much an FCF wants to be chosen; the least number is the greatest wish.
    Priority(u8),
    /// Type 2: a MAC address.
    Mac(MacAddr),
    /// Type 3: the upper half of a fabric's MAC addresses.
    FcMap([u8; 3]),
    /// Type 4: the name of a switch or a node.
    Name(Wwn),
    /// Type 5: a fabric.
    Fabric {
        /// Virtual fabric identifier, 12 bits.
        vf_id: u16,
        /// The upper half of its MAC addresses.
        fc_map: [u8; 3],
        /// Its name.
        name: Wwn,
    },
    /// Type 6: bytes of the longest FCoE frame behind its Ethernet header, FCS not counted.
    MaxFcoeSize(u16),
    /// Types 7 to 10: a link service's frame.
    Els {
        /// Which.
        kind: FipElsKind,
        /// The FC header.
        header: FcHeader,
        /// The payload; a number of words.
        payload: &'a [u8],
    },
    /// Type 11: a VN_Port.
    VnPort(FipVnPort),
    /// Type 12: how often an FCF advertises itself.
    FkaAdv {
        /// The D bit: keep alives are not wanted.
        no_keep_alive: bool,
        /// Milliseconds from one to the next.
        period: u32,
    },
    /// Type 13: a vendor.
    VendorId([u8; 8]),
    /// Type 14: a VLAN, 12 bits.
    Vlan(u16),
    /// Type 15: what a port does.
    Fc4Features(Fc4Features),
    /// Any other: its type and the value.
    Unknown(u8, &'a [u8]),
}

/// The link services that FIP carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FipElsKind {
    /// Fabric login, type 7.
    Flogi,
    /// Discover F_Port service parameters, type 8: another N_Port_ID.
    Fdisc,
    /// Logout, type 9.
    Logo,
    /// Exchange link parameters, type 10: between switches.
    Elp,
}

/// A VN_Port (FC-BB-6, clause 7, Vx_Port Identification descriptor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FipVnPort {
    /// Its MAC address.
    pub mac: MacAddr,
    /// Its N_Port_ID.
    pub fc_id: FcId,
    /// Its name.
    pub name: Wwn,
}

/// FC-4 TYPEs and what a port does with each: the form of FC-GS's RFF_ID, for all types at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fc4Features {
    /// A bit for each TYPE: bit `t % 32` of word `t / 32`.
    pub types: [u32; 8],
    /// Four bits for each TYPE: those from bit `t % 8 * 4` of word `t / 8`.
    pub features: [u32; 32],
}

impl Fc4Features {
    /// FCP's feature bit of a target (FC-GS, FC-4 Features of FCP).
    pub const TARGET: u32 = 1;
    /// FCP's feature bit of an initiator.
    pub const INITIATOR: u32 = 2;

    /// Of a port that speaks FCP, with these feature bits, and nothing else.
    #[must_use]
    pub const fn of_fcp(features: u32) -> Self {
        let mut all = Self { types: [0; 8], features: [0; 32] };
        all.types[0] = 1 << 8;
        all.features[1] = features & 0xf;
        all
    }

    /// FCP's feature bits, if the port speaks FCP.
    #[must_use]
    pub const fn fcp(&self) -> Option<u32> {
        if self.types[0] & 1 << 8 != 0 { Some(self.features[1] & 0xf) } else { None }
    }
}

impl<'a> FipDescriptor<'a> {
    /// Its type.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::Priority(_) => 1,
            Self::Mac(_) => 2,
            Self::FcMap(_) => 3,
            Self::Name(_) => 4,
            Self::Fabric { .. } => 5,
            Self::MaxFcoeSize(_) => 6,
            Self::Els { kind: FipElsKind::Flogi, .. } => 7,
            Self::Els { kind: FipElsKind::Fdisc, .. } => 8,
            Self::Els { kind: FipElsKind::Logo, .. } => 9,
            Self::Els { kind: FipElsKind::Elp, .. } => 10,
            Self::VnPort(_) => 11,
            Self::FkaAdv { .. } => 12,
            Self::VendorId(_) => 13,
            Self::Vlan(_) => 14,
            Self::Fc4Features(_) => 15,
            Self::Unknown(code, _) => *code,
        }
    }

    /// True if who does not understand it must drop the frame.
    #[must_use]
    pub const fn is_critical(&self) -> bool {
        self.code() < NOT_CRITICAL
    }

    /// Bytes of it, type and length counted.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a descriptor is never empty")]
    pub const fn len(&self) -> usize {
        match self {
            Self::Priority(_) | Self::MaxFcoeSize(_) | Self::Vlan(_) => 4,
            Self::Mac(_) | Self::FcMap(_) | Self::FkaAdv { .. } => 8,
            Self::Name(_) | Self::VendorId(_) => 12,
            Self::Fabric { .. } => 16,
            Self::VnPort(_) => 20,
            Self::Fc4Features(_) => 164,
            Self::Els { payload, .. } => 4 + FcHeader::LEN + payload.len(),
            Self::Unknown(_, value) => 2 + value.len(),
        }
    }

    /// Reads one whose bytes are `bytes`, type and length counted: at least 4.
    fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let els = |kind| {
            let header = bytes.get(field::WORD..).ok_or(Error::Malformed(NAME, "length"))?;
            let header = FcHeader::parse(header).map_err(|_| Error::Malformed(NAME, "length"))?;
            Ok(Self::Els { kind, header, payload: &bytes[field::WORD + FcHeader::LEN..] })
        };
        let wanted = match bytes[field::TYPE] {
            1 | 6 | 14 => 4,
            2 | 3 | 12 => 8,
            4 | 13 => 12,
            5 => 16,
            11 => 20,
            15 => 164,
            _ => bytes.len(),
        };
        if bytes.len() != wanted {
            return Err(Error::Malformed(NAME, "length"));
        }
        Ok(match bytes[field::TYPE] {
            1 => Self::Priority(bytes[field::LAST_BYTE]),
            2 => Self::Mac(MacAddr(array_at(bytes, field::VALUE))),
            3 => Self::FcMap(array_at(bytes, field::FC_MAP)),
            4 => Self::Name(wwn_at(bytes, field::WORD)),
            5 => Self::Fabric {
                vf_id: u16_at(bytes, field::VALUE) & 0xfff,
                fc_map: array_at(bytes, field::FC_MAP),
                name: wwn_at(bytes, field::FABRIC_NAME),
            },
            6 => Self::MaxFcoeSize(u16_at(bytes, field::VALUE)),
            7 => els(FipElsKind::Flogi)?,
            8 => els(FipElsKind::Fdisc)?,
            9 => els(FipElsKind::Logo)?,
            10 => els(FipElsKind::Elp)?,
            11 => Self::VnPort(FipVnPort {
                mac: MacAddr(array_at(bytes, field::VALUE)),
                fc_id: FcId::from_bytes(array_at(bytes, field::VN_PORT_ID)),
                name: wwn_at(bytes, field::VN_PORT_NAME),
            }),
            12 => Self::FkaAdv { no_keep_alive: bytes[field::LAST_BYTE] & 1 != 0, period: u32_at(bytes, field::WORD) },
            13 => Self::VendorId(array_at(bytes, field::WORD)),
            14 => Self::Vlan(u16_at(bytes, field::VALUE) & 0xfff),
            15 => Self::Fc4Features(Fc4Features {
                types: std::array::from_fn(|i| u32_at(bytes, field::WORD + i * 4)),
                features: std::array::from_fn(|i| u32_at(bytes, field::FEATURES + i * 4)),
            }),
            code => Self::Unknown(code, &bytes[field::VALUE..]),
        })
    }

    /// Writes it to the front of `buffer`; returns the rest.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it does not fit, [`Error::TooLarge`] when it is longer than 255 words,
    /// [`Error::Malformed`] when it is no number of words; nothing is written then.
    pub fn emit<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b mut [u8], Error> {
        let len = self.len();
        if !len.is_multiple_of(4) {
            return Err(Error::Malformed(NAME, "length"));
        }
        let words = u8::try_from(len / 4).map_err(|_| Error::TooLarge(NAME, "length"))?;
        let (bytes, rest) = buffer.split_at_mut_checked(len).ok_or(Error::Truncated(NAME))?;
        bytes.fill(0);
        put(bytes, field::TYPE, &[self.code(), words]);
        match self {
            Self::Priority(priority) => put(bytes, field::LAST_BYTE, &[*priority]),
            Self::Mac(mac) => put(bytes, field::VALUE, &mac.0),
            Self::FcMap(fc_map) => put(bytes, field::FC_MAP, fc_map),
            Self::Name(name) => put(bytes, field::WORD, &name.0.to_be_bytes()),
            Self::Fabric { vf_id, fc_map, name } => {
                put_u16(bytes, field::VALUE, vf_id & 0xfff);
                put(bytes, field::FC_MAP, fc_map);
                put(bytes, field::FABRIC_NAME, &name.0.to_be_bytes());
            }
            Self::MaxFcoeSize(size) => put_u16(bytes, field::VALUE, *size),
            Self::Els { header, payload, .. } => {
                put(bytes, field::WORD, &header.bytes());
                put(bytes, field::WORD + FcHeader::LEN, payload);
            }
            Self::VnPort(port) => {
                put(bytes, field::VALUE, &port.mac.0);
                put(bytes, field::VN_PORT_ID, &port.fc_id.bytes());
                put(bytes, field::VN_PORT_NAME, &port.name.0.to_be_bytes());
            }
            Self::FkaAdv { no_keep_alive, period } => {
                put(bytes, field::LAST_BYTE, &[u8::from(*no_keep_alive)]);
                put(bytes, field::WORD, &period.to_be_bytes());
            }
            Self::VendorId(id) => put(bytes, field::WORD, id),
            Self::Vlan(vid) => put_u16(bytes, field::VALUE, vid & 0xfff),
            Self::Fc4Features(features) => {
                for (at, word) in features.types.iter().chain(&features.features).enumerate() {
                    put(bytes, field::WORD + at * 4, &word.to_be_bytes());
                }
            }
            Self::Unknown(_, value) => put(bytes, field::VALUE, value),
        }
        Ok(rest)
    }
}

fn wwn_at(bytes: &[u8], at: usize) -> Wwn {
    Wwn(u64::from_be_bytes(array_at(bytes, at)))
}

/// The descriptors of a list; after an error there are no more.
#[derive(Debug, Clone)]
pub struct FipDescriptors<'a> {
    rest: &'a [u8],
}

impl<'a> FipDescriptors<'a> {
    pub(super) fn new(list: &'a [u8]) -> Self {
        Self { rest: list }
    }
}

impl<'a> Iterator for FipDescriptors<'a> {
    type Item = Result<FipDescriptor<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = std::mem::take(&mut self.rest);
        // A list is a number of words, so that a type never stands without a length.
        let len = usize::from(*rest.get(1)?) * 4;
        if len == 0 || len > rest.len() {
            return Some(Err(Error::Malformed(NAME, "length")));
        }
        let (bytes, rest) = rest.split_at(len);
        let descriptor = FipDescriptor::parse(bytes);
        if descriptor.is_ok() {
            self.rest = rest;
        }
        Some(descriptor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each, and its bytes.
    fn all() -> Vec<(FipDescriptor<'static>, Vec<u8>)> {
        let header = FcHeader::parse(&[0x22; 24]).unwrap();
        let els = |kind, code| {
            let bytes = [&[code, 8, 0, 0][..], &[0x22; 24], &[5, 0, 0, 0]].concat();
            (FipDescriptor::Els { kind, header, payload: &[5, 0, 0, 0] }, bytes)
        };
        let name = Wwn(0x1122_3344_5566_7788);
        let eight = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88];
        let port = FipVnPort { mac: MacAddr([0x0e, 0xfd, 0, 0, 1, 2]), fc_id: FcId::new(0x0102), name };
        let mut features = vec![0; 164];
        features[..8].copy_from_slice(&[15, 41, 0, 0, 0, 0, 1, 0]);
        features[43] = 3;
        vec![
            (FipDescriptor::Priority(128), vec![1, 1, 0, 128]),
            (FipDescriptor::Mac(MacAddr([2, 0, 0, 0, 0, 1])), vec![2, 2, 2, 0, 0, 0, 0, 1]),
            (FipDescriptor::FcMap([0x0e, 0xfc, 0]), vec![3, 2, 0, 0, 0, 0x0e, 0xfc, 0]),
            (FipDescriptor::Name(name), [&[4, 3, 0, 0][..], &eight].concat()),
            (
                FipDescriptor::Fabric { vf_id: 0x123, fc_map: [0x0e, 0xfc, 0], name },
                [&[5, 4, 1, 0x23, 0, 0x0e, 0xfc, 0][..], &eight].concat(),
            ),
            (FipDescriptor::MaxFcoeSize(2158), vec![6, 1, 8, 0x6e]),
            els(FipElsKind::Flogi, 7),
            els(FipElsKind::Fdisc, 8),
            els(FipElsKind::Logo, 9),
            els(FipElsKind::Elp, 10),
            (FipDescriptor::VnPort(port), [&[11, 5, 0x0e, 0xfd, 0, 0, 1, 2, 0, 0, 1, 2][..], &eight].concat()),
            (FipDescriptor::FkaAdv { no_keep_alive: true, period: 8000 }, vec![12, 2, 0, 1, 0, 0, 0x1f, 0x40]),
            (FipDescriptor::VendorId(eight), [&[13, 3, 0, 0][..], &eight].concat()),
            (FipDescriptor::Vlan(100), vec![14, 1, 0, 100]),
            (FipDescriptor::Fc4Features(Fc4Features::of_fcp(3)), features),
            (FipDescriptor::Unknown(241, &[1, 2]), vec![241, 1, 1, 2]),
        ]
    }

    #[test]
    fn each_descriptor_is_its_bytes() {
        // FC-BB-6, clause 7, FIP descriptors: the format of each.
        let (mut list, mut wanted) = (Vec::new(), Vec::new());
        for (descriptor, bytes) in all() {
            let mut written = vec![0xa5; bytes.len() + 1];
            assert_eq!(descriptor.emit(&mut written).unwrap(), [0xa5], "{descriptor:?}");
            assert_eq!(written[..bytes.len()], bytes, "{descriptor:?}");
            assert_eq!((descriptor.len(), descriptor.code()), (bytes.len(), bytes[0]));
            list.extend(bytes);
            wanted.push(descriptor);
        }
        let read: Vec<_> = FipDescriptors::new(&list).map(Result::unwrap).collect();
        assert_eq!(read, wanted);
        assert!(wanted.iter().all(|d| d.is_critical() == !matches!(d, FipDescriptor::Unknown(..))));
    }

    #[test]
    fn each_length_but_its_own_is_wrong() {
        for (descriptor, mut bytes) in all() {
            if matches!(descriptor, FipDescriptor::Unknown(..)) {
                continue;
            }
            let words = bytes[1];
            bytes.resize(1020, 0);
            let free = matches!(descriptor, FipDescriptor::Els { .. });
            for other in (0..=u8::MAX).filter(|&w| if free { w < 7 } else { w != words }) {
                bytes[1] = other;
                let mut list = FipDescriptors::new(&bytes);
                assert_eq!(list.next(), Some(Err(Error::Malformed(NAME, "length"))), "{descriptor:?} {other}");
                assert_eq!(list.next(), None);
            }
            assert_eq!(descriptor.emit(&mut [0; 3]), Err(Error::Truncated(NAME)));
        }
    }

    #[test]
    fn what_no_length_can_state_is_not_written() {
        let mut buffer = [0xa5; 2000];
        let header = FcHeader::parse(&[0; 24]).unwrap();
        let els = |payload| FipDescriptor::Els { kind: FipElsKind::Flogi, header, payload };
        assert_eq!(els(&[0; 996]).emit(&mut buffer), Err(Error::TooLarge(NAME, "length")));
        assert_eq!(els(&[0; 5]).emit(&mut buffer), Err(Error::Malformed(NAME, "length")));
        assert_eq!(buffer, [0xa5; 2000]);
        assert!(els(&[0; 992]).emit(&mut buffer).is_ok());
    }

    #[test]
    fn fcp_is_found_among_the_types() {
        assert_eq!(Fc4Features::of_fcp(Fc4Features::TARGET).fcp(), Some(1));
        assert_eq!(Fc4Features { types: [0; 8], features: [u32::MAX; 32] }.fcp(), None);
    }
}
