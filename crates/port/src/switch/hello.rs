//! First message of a program to a switch in another process: the port that it wants to be.
//!
//! ```text
//!   magic  version  queues  slots  mtu  buf_size  pause     (little-endian u64 each)
//!   PORT "," VLANS                                          (text)
//! ```
//! A pause of 256 and empty VLANS ask for the grant of that name. The answer is a cable's offer, with the switch as
//! left end; the rest of the handshake is a cable's too.

use super::Vlans;
use super::grant::Wish;
use super::vale::{fits, is_name};
use crate::cable::{Shape, Words, bytes};

const MAGIC: u64 = u64::from_le_bytes(*b"lr-vale\0");
const VERSION: u64 = 5;
/// Value of pause that asks for the grant.
const AS_GRANTED: u64 = 256;

/// First message of a program; see the module's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hello {
    pub(super) shape: Shape,
    pub(super) pause: Option<u8>,
    pub(super) port: String,
    pub(super) vlans: String,
}

/// Fault of a hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// Malformed, or of another version.
    Malformed,
    /// More memory than a port may have.
    Memory,
}

impl Hello {
    pub(super) fn write(&self) -> Vec<u8> {
        let s = &self.shape;
        let pause = self.pause.map_or(AS_GRANTED, u64::from);
        let (queues, slots, buf_size) = (s.queues.into(), s.slots.into(), s.buf_size.into());
        let mut message = bytes(&[MAGIC, VERSION, queues, slots, s.mtu as u64, buf_size, pause]);
        message.extend_from_slice(format!("{},{}", self.port, self.vlans).as_bytes());
        message
    }

    /// Parses a hello; every word of it is checked.
    pub(super) fn read(message: &[u8]) -> Result<(Self, Wish), Wrong> {
        let (hello, wish) = Self::parse(message).ok_or(Wrong::Malformed)?;
        if fits(&hello.shape) { Ok((hello, wish)) } else { Err(Wrong::Memory) }
    }

    fn parse(message: &[u8]) -> Option<(Self, Wish)> {
        let mut words = Words(message);
        if words.next()? != MAGIC || words.next()? != VERSION {
            return None;
        }
        let (queues, slots) = (words.next_u32()?, words.next_u32()?);
        let (mtu, buf_size) = (usize::try_from(words.next()?).ok()?, words.next_u32()?);
        let pause = Some(words.next()?).filter(|pause| *pause != AS_GRANTED);
        let pause = pause.map(u8::try_from).transpose().ok()?;
        let legal = (1..=16).contains(&queues)
            && (64..=65536).contains(&slots)
            && slots.is_power_of_two()
            && (64..=65000).contains(&mtu)
            && (512..=65536).contains(&buf_size)
            && buf_size.is_power_of_two();
        let text = std::str::from_utf8(words.0).ok()?;
        let (port, vlans) = text.split_once(',')?;
        if !legal || !is_name(port) {
            return None;
        }
        let asked = (!vlans.is_empty()).then(|| Vlans::parse(vlans).ok_or(())).transpose().ok()?;
        let wish = Wish { vlans: asked, pause };
        let shape = Shape { queues, slots, mtu, buf_size, rate: None };
        Some((Self { shape, pause, port: port.to_owned(), vlans: vlans.to_owned() }, wish))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hello() -> Hello {
        let shape = Shape { queues: 2, slots: 1024, mtu: 1500, buf_size: 2048, rate: None };
        Hello { shape, pause: Some(8), port: "p1".into(), vlans: "5+t10-12".into() }
    }

    #[test]
    fn a_hello_survives_the_wire() {
        let (read, wish) = Hello::read(&hello().write()).unwrap();
        assert_eq!(read, hello());
        assert_eq!(wish, Wish { vlans: Vlans::parse("5+t10-12"), pause: Some(8) });
        let modest = Hello { pause: None, vlans: String::new(), ..hello() };
        assert_eq!(Hello::read(&modest.write()), Ok((modest, Wish::default())));
        let mut greedy = hello();
        (greedy.shape.slots, greedy.shape.buf_size) = (65536, 65536);
        assert_eq!(Hello::read(&greedy.write()), Err(Wrong::Memory));
    }

    proptest! {
        #[test]
        fn nothing_that_arrives_panics(message in prop::collection::vec(any::<u8>(), 0..200), at in 0usize..200, byte: u8) {
            let _ = Hello::read(&message);
            let mut bent = hello().write();
            let at = at % bent.len();
            bent[at] = byte;
            if let Ok((hello, _)) = Hello::read(&bent) {
                prop_assert_eq!(hello.write(), bent.clone());
            }
            let _ = Hello::read(&bent[..at]);
        }
    }
}
