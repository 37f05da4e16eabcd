//! Messages that the two processes of a cable exchange once, when they meet.
//!
//! ```text
//!   joiner                                   maker (listens)
//!     Hello { magic, version, which end }  ─►
//!                                          ◄─  Offer { shape, region, rings of each queue } + memfd
//!     ready                                ─►
//!                                          ◄─  bells of both, up to 128 a message
//! ```
//! The maker is committed only by the last step, and gives the joiner nothing before it but the region. It makes the
//! sockets of all doorbells, and so takes no descriptor from a joiner. After that the socket is silent; its end of file
//! means that the other process is gone. All words are little-endian u64; every word of an offer is checked before it
//! is used.

use super::Shape;
use linerate_ring::{RingPair, RingSpot};

const MAGIC: u64 = u64::from_le_bytes(*b"lr-cable");
/// Version of the protocol: changes whenever the messages or the layout of shared lines change.
const VERSION: u64 = 9;
/// Length in bytes of the longest message.
pub(super) const LONGEST: usize = 8 * (13 + 2 * 128 * PAIR);
const PAIR: usize = 6;

/// Reason that the maker sends no offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Not linerate, or another protocol version.
    Version,
    /// The same end is already open.
    SameEnd,
    /// Both ends are already open.
    Busy,
    /// The switch already has a port of that name.
    Taken,
    /// The switch has reached its limit of ports.
    Full,
    /// The switch has no memory for the port.
    Memory,
    /// The switch allows no port of that name.
    Unknown,
    /// The switch does not grant the port that pause.
    Pause,
    /// The switch does not grant the port those VLANs.
    Vlans,
}

/// The maker's offer: a region that no other process has or will have. Cursors start at 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(super) shape: Shape,
    /// Address that the joiner is to send from, if the maker says one: an adapter does.
    pub(super) mac: Option<[u8; 6]>,
    pub(super) buf_area: u64,
    pub(super) buffers: u32,
    /// Ring pairs from the left end to the right one.
    pub(super) right: Vec<RingPair>,
    /// Ring pairs from the right end to the left one.
    pub(super) left: Vec<RingPair>,
}

pub(crate) struct Words<'a>(pub(crate) &'a [u8]);

impl Words<'_> {
    pub(crate) fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    pub(crate) fn next_u32(&mut self) -> Option<u32> {
        self.next().and_then(|w| u32::try_from(w).ok())
    }
}

pub(crate) fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// First message of a joiner.
pub(super) fn hello(left: bool) -> Vec<u8> {
    bytes(&[MAGIC, VERSION, left.into()])
}

/// Parses the first message of a joiner: true if it is the left end.
pub(super) fn read_hello(message: &[u8]) -> Option<bool> {
    let mut words = Words(message);
    let right_kind = words.next()? == MAGIC && words.next()? == VERSION;
    let left = words.next()?;
    (right_kind && left <= 1 && words.0.is_empty()).then_some(left == 1)
}

impl Refusal {
    pub(crate) fn write(self) -> Vec<u8> {
        bytes(&[MAGIC, VERSION, 1 + self as u64])
    }
}

impl Offer {
    pub(super) fn write(&self) -> Vec<u8> {
        let s = &self.shape;
        let mut words = vec![MAGIC, VERSION, 0];
        words.extend([s.queues.into(), s.slots.into(), s.mtu as u64, s.buf_size.into(), s.rate.unwrap_or(0)]);
        words.extend([self.buf_area, self.buffers.into()]);
        for pair in self.right.iter().chain(&self.left) {
            words.extend([pair.tx.ring, pair.tx.meta, pair.rx.ring, pair.rx.meta, pair.lines]);
            words.push(pair.first_buf.into());
        }
        words.push(self.mac.map_or(0, mac_word));
        bytes(&words)
    }

    /// Parses a maker's answer; None if it is malformed. The region checks the positions of the rings.
    pub(super) fn read(message: &[u8]) -> Option<Result<Self, Refusal>> {
        let mut words = Words(message);
        if words.next()? != MAGIC || words.next()? != VERSION {
            return Some(Err(Refusal::Version));
        }
        match words.next()? {
            0 => {}
            2 => return Some(Err(Refusal::SameEnd)),
            3 => return Some(Err(Refusal::Busy)),
            4 => return Some(Err(Refusal::Taken)),
            5 => return Some(Err(Refusal::Full)),
            6 => return Some(Err(Refusal::Memory)),
            7 => return Some(Err(Refusal::Unknown)),
            8 => return Some(Err(Refusal::Pause)),
            9 => return Some(Err(Refusal::Vlans)),
            _ => return Some(Err(Refusal::Version)),
        }
        let (queues, slots) = (words.next_u32()?, words.next_u32()?);
        let (mtu, buf_size) = (usize::try_from(words.next()?).ok()?, words.next_u32()?);
        let rate = words.next()?;
        if !(1..=128).contains(&queues) || !(64..=65000).contains(&mtu) || !(rate == 0 || rate >= 1000) {
            return None;
        }
        let shape = Shape { queues, slots, mtu, buf_size, rate: (rate > 0).then_some(rate) };
        let (buf_area, buffers) = (words.next()?, words.next_u32()?);
        let mut pairs = || -> Option<Vec<RingPair>> {
            let mut pair = || {
                let spot = |words: &mut Words<'_>| Some(RingSpot { ring: words.next()?, meta: words.next()?, slots });
                let (tx, rx) = (spot(&mut words)?, spot(&mut words)?);
                let (lines, first_buf) = (words.next()?, words.next_u32()?);
                Some(RingPair { tx, rx, lines, first_buf })
            };
            (0..queues).map(|_| pair()).collect()
        };
        let (right, left) = (pairs()?, pairs()?);
        let mac = match words.next()? {
            0 => None,
            word => Some(word_mac(word)?),
        };
        words.0.is_empty().then_some(Ok(Self { shape, mac, buf_area, buffers, right, left }))
    }
}

/// An address as a word, which is never 0.
fn mac_word(mac: [u8; 6]) -> u64 {
    mac.iter().fold(1, |word, byte| word << 8 | u64::from(*byte))
}

/// The address that a word stands for.
fn word_mac(word: u64) -> Option<[u8; 6]> {
    match word.to_be_bytes() {
        [0, 1, mac @ ..] => Some(mac),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn offer(queues: u32) -> Offer {
        let shape = Shape { queues, slots: 64, mtu: 1500, buf_size: 2048, rate: Some(10_000_000_000) };
        let spot = |ring| RingSpot { ring, meta: ring + 4096, slots: 64 };
        let pair = |n| RingPair { tx: spot(n), rx: spot(n + 128), lines: n + 256, first_buf: 7 };
        let some = |from: u64| (0..u64::from(queues)).map(|q| pair(from + 1024 * q)).collect();
        Offer {
            shape,
            mac: Some([2, 0, 0, 0, 0, 7]),
            buf_area: 2 << 20,
            buffers: 1000,
            right: some(128),
            left: some(65536),
        }
    }

    #[test]
    fn an_offer_survives_the_wire() {
        for queues in [1, 3, 128] {
            let offer = offer(queues);
            let message = offer.write();
            assert!(message.len() <= LONGEST);
            assert_eq!(Offer::read(&message), Some(Ok(offer)));
        }
    }

    #[test]
    fn refusals_and_hellos_survive_the_wire() {
        use Refusal::{Busy, Full, Memory, Pause, SameEnd, Taken, Unknown, Version, Vlans};
        for refusal in [Version, SameEnd, Busy, Taken, Full, Memory, Unknown, Pause, Vlans] {
            assert_eq!(Offer::read(&refusal.write()), Some(Err(refusal)));
        }
        assert_eq!(read_hello(&hello(true)), Some(true));
        assert_eq!(read_hello(&hello(false)), Some(false));
        assert_eq!(read_hello(b"GET / HTTP/1.0\r\n\r\n"), None);
        assert_eq!(read_hello(&[]), None);
    }

    /// A seed of another version ends at its second word, and the fuzzer behind it sees nothing.
    #[test]
    fn the_fuzzers_seeds_are_of_this_version() {
        let seed = |name: &str| {
            let corpus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/handover/");
            std::fs::read(format!("{corpus}{name}")).unwrap()
        };
        for (name, queues) in [("offer1", 1), ("offer3", 3)] {
            assert_eq!(Offer::read(&seed(name)).unwrap().unwrap().shape.queues, queues, "{name}");
        }
        assert_eq!(Offer::read(&seed("busy")), Some(Err(Refusal::Busy)));
        assert!(read_hello(&seed("hello")).is_some());
    }

    proptest! {
        #[test]
        fn nothing_that_arrives_panics(message in prop::collection::vec(any::<u8>(), 0..400), at in 0usize..400, byte: u8) {
            let _ = (read_hello(&message), Offer::read(&message));
            let mut bent = offer(2).write();
            let at = at % bent.len();
            bent[at] = byte;
            let _ = Offer::read(&bent);
            let _ = Offer::read(&bent[..at]);
        }
    }
}
