//! Which virtual interfaces a received frame is for: one look-up a frame, and none when it goes where the last one went.

use super::settings::ViSettings;
use crate::flags::Flags;

/// A set of virtual interfaces, a bit each: bit `k` is interface `k`, of at most 128.
pub(crate) type ViSet = u128;

/// The first 16 octets of a frame, of which the choice is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Destination address, in the low 48 bits.
    pub(crate) to: u64,
    /// The VLAN identifier of a tagged frame, 0 for one that has no tag or only a priority.
    pub(crate) vid: u16,
}

const VLAN: u64 = 0x8100;
const GROUP: u64 = 1 << 40;
const BROADCAST: u64 = 0xffff_ffff_ffff;
const EMPTY: u64 = u64::MAX;

impl Key {
    /// Of octets 0 to 7 and 8 to 15 as big-endian numbers.
    #[inline]
    pub(crate) fn new([first, second]: [u64; 2]) -> Self {
        let tagged = (second >> 16) & 0xffff == VLAN;
        Self { to: first >> 16, vid: if tagged { u16::try_from(second & 0x0fff).unwrap_or(0) } else { 0 } }
    }
}

/// An address as a key.
pub(crate) fn address(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |n, octet| n << 8 | u64::from(*octet))
}

/// The filters of all interfaces, compiled.
pub(crate) struct Demux {
    keys: Box<[u64]>,
    sets: Box<[ViSet]>,
    shift: u32,
    /// Interfaces that are up.
    up: ViSet,
    promiscuous: ViSet,
    all_multicast: ViSet,
    /// Interfaces that look at VLANs, and for each VLAN those of them that take it.
    filtering: ViSet,
    vlans: Box<[ViSet]>,
}

impl Demux {
    pub(crate) fn new(vis: &[ViSettings]) -> Self {
        let wanted: usize = vis.iter().map(|vi| 1 + vi.addresses.len()).sum();
        let room = (wanted * 4).next_power_of_two().max(16);
        let mut demux = Self {
            keys: vec![EMPTY; room].into(),
            sets: vec![0; room].into(),
            shift: 64 - room.trailing_zeros(),
            up: 0,
            promiscuous: 0,
            all_multicast: 0,
            filtering: 0,
            vlans: Box::default(),
        };
        for (k, vi) in vis.iter().enumerate().filter(|(_, vi)| vi.up) {
            let bit = 1 << k;
            demux.up |= bit;
            demux.promiscuous |= if vi.promiscuous { bit } else { 0 };
            demux.all_multicast |= if vi.all_multicast { bit } else { 0 };
            for mac in std::iter::once(&vi.mac).chain(&vi.addresses) {
                demux.insert(address(*mac), bit);
            }
            if vi.flags.enabled().contains(Flags::VLAN_HWFILTER) {
                demux.filter_vlans(bit, &vi.vlans);
            }
        }
        demux
    }

    fn filter_vlans(&mut self, bit: ViSet, vlans: &[u16]) {
        if self.vlans.is_empty() {
            self.vlans = vec![0; 4096].into();
        }
        self.filtering |= bit;
        for vid in vlans {
            self.vlans[usize::from(vid & 0x0fff)] |= bit;
        }
    }

    fn place(&self, key: u64) -> usize {
        // Fibonacci hashing: addresses of one vendor differ in their low bits.
        usize::try_from(key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift).unwrap_or(0)
    }

    /// Where a key is, or where it would be. The table is at most a quarter full, so the walk ends.
    fn find(&self, key: u64) -> usize {
        let mut at = self.place(key);
        while self.keys[at] != key && self.keys[at] != EMPTY {
            at = (at + 1) & (self.keys.len() - 1);
        }
        at
    }

    fn insert(&mut self, key: u64, bit: ViSet) {
        let at = self.find(key);
        self.keys[at] = key;
        self.sets[at] |= bit;
    }

    /// The interfaces that take a frame's address, and those of them that take its VLAN.
    pub(crate) fn choose(&self, key: Key) -> (ViSet, ViSet) {
        let mut set = self.promiscuous;
        if key.to == BROADCAST {
            set = self.up;
        } else {
            set |= self.sets[self.find(key.to)];
            if key.to & GROUP != 0 {
                set |= self.all_multicast;
            }
        }
        let refused = match self.vlans.get(usize::from(key.vid)) {
            Some(takers) if key.vid != 0 => self.filtering & !takers,
            _ => 0,
        };
        (set, set & !refused)
    }
}

/// Where frames of a key went that went to one interface: nearly all do, and flows come back.
pub(crate) struct Cache(Box<[(u64, u32); 256]>);

impl Cache {
    pub(crate) fn new() -> Self {
        Self(Box::new([(EMPTY, 0); 256]))
    }

    #[inline]
    fn place(key: u64) -> usize {
        usize::from(key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0])
    }

    #[inline]
    fn number(key: Key) -> u64 {
        key.to << 16 | u64::from(key.vid)
    }

    /// The interface that frames of a key went to.
    #[inline]
    pub(crate) fn find(&self, key: Key) -> Option<usize> {
        let number = Self::number(key);
        let (kept, vi) = self.0[Self::place(number)];
        (kept == number).then_some(vi as usize)
    }

    /// Frames of a key go to this interface alone.
    pub(crate) fn keep(&mut self, key: Key, vi: u32) {
        let number = Self::number(key);
        self.0[Self::place(number)] = (number, vi);
    }
}

/// The interfaces of a set, in order.
pub(crate) fn each(mut set: ViSet) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let k = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (k < 128).then_some(k)
    })
}
