//! Which virtual interfaces a received frame is for: one look-up a frame, and none when it goes where the last one went.
//! Address, VLAN and EtherType choose.

use super::settings::ViSettings;
use crate::flags::Flags;
use linerate_wire::EtherType;

/// A set of virtual interfaces, a bit each: bit `k` is interface `k`, of at most 128.
pub(crate) type ViSet = u128;

/// Fields of a frame's header that choose its interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// Destination address, in the low 48 bits.
    pub(crate) to: u64,
    /// The VLAN identifier of a tagged frame, 0 for one that has no tag or only a priority.
    pub(crate) vid: u16,
    /// The class of its EtherType, behind a tag if it has one: its place among [`Types`] from 1 on, 0 if it is not there.
    pub(crate) class: u16,
}

/// Most EtherTypes that the interfaces of an adapter name.
pub(crate) const MAX_TYPES: usize = 15;

/// The EtherTypes that interfaces name, each a class of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Types {
    named: [u16; MAX_TYPES],
    len: usize,
}

impl Types {
    fn new(vis: &[ViSettings]) -> Self {
        let mut types = Self::default();
        for ethertype in vis.iter().flat_map(|vi| &vi.ethertypes) {
            if types.class(ethertype.0) == 0 && types.len < MAX_TYPES {
                types.named[types.len] = ethertype.0;
                types.len += 1;
            }
        }
        types
    }

    #[inline]
    fn class(&self, ethertype: u16) -> u16 {
        let at = self.named[..self.len].iter().position(|named| *named == ethertype);
        at.map_or(0, |at| u16::try_from(at + 1).unwrap_or(0))
    }
}

/// EtherTypes that interfaces name, each counted once.
pub(crate) fn named(vis: &[ViSettings]) -> usize {
    let mut all: Vec<EtherType> = vis.iter().flat_map(|vi| vi.ethertypes.iter().copied()).collect();
    all.sort_unstable_by_key(|ethertype| ethertype.0);
    all.dedup();
    all.len()
}

const VLAN: u16 = 0x8100;
const GROUP: u64 = 1 << 40;
const BROADCAST: u64 = 0xffff_ffff_ffff;
const EMPTY: u64 = u64::MAX;
/// No frame's destination address.
pub(crate) const NO_ADDRESS: u64 = u64::MAX;

/// Destination address of a frame of 16 bytes or more, as in [`Key`].
#[inline(always)]
pub(crate) fn destination(frame: &[u8]) -> Option<u64> {
    let [t0, t1, t2, t3, t4, t5, _, _, ..] = *frame.first_chunk::<16>()?;
    Some(u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]))
}

impl Key {
    /// Of a frame of 16 bytes or more.
    #[inline(always)]
    pub(crate) fn of(frame: &[u8], types: &Types) -> Option<Self> {
        let (front, behind) = frame.split_first_chunk::<16>()?;
        let [t0, t1, t2, t3, t4, t5, _, _, _, _, _, _, e0, e1, c0, c1] = *front;
        let to = u64::from_be_bytes([0, 0, t0, t1, t2, t3, t4, t5]);
        let (ethertype, behind_tag) = (u16::from_be_bytes([e0, e1]), behind.first_chunk::<2>());
        let (vid, ethertype) = if ethertype == VLAN {
            (u16::from_be_bytes([c0, c1]) & 0x0fff, behind_tag.map_or(0, |bytes| u16::from_be_bytes(*bytes)))
        } else {
            (0, ethertype)
        };
        Some(Self { to, vid, class: types.class(ethertype) })
    }

    /// Of any frame: zeros stand behind the end of one that has 14 or 15 bytes; None of a shorter one.
    pub(crate) fn of_any(frame: &[u8], types: &Types) -> Option<Self> {
        let mut front = [0; 16];
        let n = frame.len().min(16);
        front[..n].copy_from_slice(&frame[..n]);
        if frame.len() >= 16 { Self::of(frame, types) } else { Self::of(&front, types).filter(|_| n >= 14) }
    }
}

/// An address as a key.
pub(crate) fn address(mac: [u8; 6]) -> u64 {
    mac.iter().fold(0, |n, byte| n << 8 | u64::from(*byte))
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
    types: Types,
    /// Interfaces that take each class: those that name it, and of class 0 those that name none.
    classes: [ViSet; MAX_TYPES + 1],
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
            types: Types::new(vis),
            classes: [0; MAX_TYPES + 1],
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
            if vi.ethertypes.is_empty() {
                demux.classes[0] |= bit;
            }
            for ethertype in &vi.ethertypes {
                demux.classes[usize::from(demux.types.class(ethertype.0))] |= bit;
            }
        }
        demux
    }

    /// The EtherTypes that are told apart.
    pub(crate) fn types(&self) -> &Types {
        &self.types
    }

    /// True if a frame's destination address alone decides who takes it: nobody filters VLANs or names EtherTypes.
    #[inline]
    pub(crate) fn by_address(&self) -> bool {
        self.filtering == 0 && self.types.len == 0
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

    /// The interface as a set, if it is up.
    pub(crate) fn up(&self, vi: u16) -> ViSet {
        1_u128.checked_shl(vi.into()).unwrap_or(0) & self.up
    }

    /// The interfaces whose own a frame's unicast address is; none of a group's.
    pub(crate) fn owners(&self, key: Key) -> ViSet {
        if key.to & GROUP == 0 { self.sets[self.find(key.to)] } else { 0 }
    }

    /// The interfaces with an address that take frames of an EtherType.
    pub(crate) fn at(&self, address: u64, ethertype: EtherType) -> ViSet {
        self.sets[self.find(address)] & self.classes[usize::from(self.types.class(ethertype.0))]
    }

    /// The interfaces that take a frame's address and EtherType, and those of them that take its VLAN.
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
        set &= self.classes[usize::from(key.class)];
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
        let mut places = Box::new([(EMPTY, 0); 256]);
        // A frame can have the number that says empty: in its place stands a number that is looked for elsewhere.
        places[Self::place(EMPTY)] = (0, 0);
        Self(places)
    }

    #[inline]
    fn place(key: u64) -> usize {
        usize::from(key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0])
    }

    #[inline]
    fn number(key: Key) -> u64 {
        key.to << 16 | u64::from(key.class) << 12 | u64::from(key.vid)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Broadcasts of VLAN 4095 and the fifteenth EtherType have all bits set, as an empty place has.
    #[test]
    fn an_empty_cache_knows_no_key() {
        let cache = Cache::new();
        for key in [Key { to: BROADCAST, vid: 0xfff, class: 15 }, Key { to: 0, vid: 0, class: 0 }] {
            assert_eq!(cache.find(key), None, "{key:?}");
        }
        let key = Key { to: BROADCAST, vid: 0xfff, class: 15 };
        let mut cache = cache;
        cache.keep(key, 7);
        assert_eq!(cache.find(key), Some(7));
    }
}
