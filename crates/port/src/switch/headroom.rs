//! Headroom of a lossless class at a port: room for what arrives from the moment on at which its neighbour is to be paused (IEEE
//! 802.1Q-2022, annex N). Delays within transceivers are not known here, and not in it.

use super::buffer::{CELL, cells_for};
use std::fmt;

/// Bytes that a frame has on the wire beside its own without FCS: preamble, FCS, and the gap between frames.
const FRAMING: u64 = 24;
/// Bytes of a shortest frame without FCS.
const LEAST: u64 = 60;
/// Time in which light goes a metre of fibre, in ps.
const PS_PER_METRE: u64 = 5000;
/// Quanta within which a station stops after the last bit of a pause frame, by rate in bit/s (IEEE 802.3-2022, clause 31B.3.7).
const RESPONSE: [(u64, u64); 7] = [
    (100_000_000, 1),
    (1_000_000_000, 2),
    (10_000_000_000, 60),
    (25_000_000_000, 80),
    (40_000_000_000, 118),
    (100_000_000_000, 394),
    (400_000_000_000, 905),
];

/// Link of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Rate in bit/s.
    pub rate: u64,
    /// Length of the cable in metres.
    pub metres: u32,
}

impl Default for Span {
    /// 10 Gb/s over 100 m.
    fn default() -> Self {
        Self { rate: 10_000_000_000, metres: 100 }
    }
}

impl Span {
    /// Time of so many quanta of 512 bits, in ns, rounded up.
    #[must_use]
    pub fn quanta_ns(&self, quanta: u16) -> u64 {
        (u64::from(quanta) * 512 * 1_000_000_000).div_ceil(self.rate.max(1))
    }

    /// Quanta within which the neighbour stops: those of the next rate that has a number.
    fn response(&self) -> u64 {
        RESPONSE.iter().find(|(rate, _)| self.rate <= *rate).unwrap_or(&RESPONSE[6]).1
    }
}

/// Bytes of the link that need a place when a frame has found none in its class's share, term by term: the frame itself, and what
/// comes until the neighbour has stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Each term's name, and its bytes.
    pub terms: [(&'static str, u64); 7],
    /// Cells that they take: the frame that is too many and the neighbour's last may be longest ones; between them most cells are
    /// taken by shortest frames, each of which has one.
    pub cells: u32,
}

impl Headroom {
    /// Headroom for frames of at most so many bytes without FCS.
    #[must_use]
    pub fn new(span: &Span, largest: usize) -> Self {
        let frame = largest as u64 + FRAMING;
        let ps = u128::from(span.metres) * u128::from(PS_PER_METRE);
        let cable = u64::try_from((ps * u128::from(span.rate)).div_ceil(8_000_000_000_000)).unwrap_or(u64::MAX);
        let terms = [
            ("frame that is too many", frame),
            ("frame that is being sent here", frame),
            ("pause frame", LEAST + FRAMING),
            ("cable, to the neighbour", cable),
            ("response of the neighbour", span.response() * 64),
            ("cable, from the neighbour", cable),
            ("frame that is being sent there", frame),
        ];
        let between = terms[1..6].iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes));
        let shortest = u32::try_from(between.div_ceil(LEAST + FRAMING)).unwrap_or(u32::MAX);
        Self { terms, cells: shortest.saturating_add(cells_for(largest).saturating_mul(2)) }
    }

    /// Bytes of the link.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.terms.iter().fold(0, |sum: u64, (_, bytes)| sum.saturating_add(*bytes))
    }
}

impl fmt::Display for Headroom {
    /// The terms, one a line, their sum, and what it takes of the buffers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, bytes) in &self.terms {
            writeln!(f, "{name:32} {bytes:>9} B")?;
        }
        writeln!(f, "{:32} {:>9} B", "all", self.bytes())?;
        write!(f, "{:32} {:>9} B", format!("at most, in cells of {CELL}"), u64::from(self.cells) * CELL as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: between two frames of six cells, 1538 + 84 + 625 + 3840 + 625 bytes are 80 shortest frames.
    #[test]
    fn the_terms_are_those_of_the_arithmetic() {
        let headroom = Headroom::new(&Span::default(), 1514);
        assert_eq!(headroom.terms.map(|(_, bytes)| bytes), [1538, 1538, 84, 625, 3840, 625, 1538]);
        assert_eq!((headroom.bytes(), headroom.cells), (9788, 92));
        let long = Headroom::new(&Span { rate: 100_000_000_000, metres: 2000 }, 9014);
        assert_eq!(long.terms.map(|(_, bytes)| bytes), [9038, 9038, 84, 125_000, 394 * 64, 125_000, 9038]);
        assert_eq!(long.cells, 2 * 36 + 3385);
        let slow = Headroom::new(&Span { rate: 1_000_000, metres: 0 }, 1514);
        assert_eq!(slow.terms[4].1, 64);
    }

    #[test]
    fn a_quantum_is_512_bits_of_the_link() {
        assert_eq!(Span { rate: 10_000_000_000, metres: 0 }.quanta_ns(u16::MAX), 3_355_392);
        assert_eq!(Span { rate: 1_000_000_000, metres: 0 }.quanta_ns(1), 512);
        assert_eq!(Span { rate: 3, metres: 0 }.quanta_ns(0), 0);
    }
}
