//! TCP's options (RFC 9293, section 3.2).

use crate::Error;
use std::fmt;

const NAME: &str = "tcp";

/// Kinds of options.
mod kind {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const FAST_OPEN: u8 = 34;
}

/// Options of a segment. Those of unknown kinds are stepped over.
///
/// ```text
/// maximum segment size    02 04 mss mss                            RFC 9293, section 3.7.1
/// window scale            03 03 shift                              RFC 7323, section 2.2
/// SACK permitted          04 02                                    RFC 2018, section 2
/// SACK                    05 02+8n  left left left left right …    RFC 2018, section 3
/// timestamps              08 0a  value, 4 bytes  echo, 4 bytes     RFC 7323, section 3.2
/// Fast Open               22 02+n  cookie, n bytes: 0 or 4 to 16   RFC 7413, section 4.1.1
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Longest payload that the sender takes; on SYN only.
    pub mss: Option<u16>,
    /// Shift of the sender's windows; on SYN only, at most 14.
    pub window_scale: Option<u8>,
    /// The sender takes SACK; on SYN only.
    pub sack_permitted: bool,
    /// Timestamp value, and the echo of the other side's.
    pub timestamps: Option<(u32, u32)>,
    /// Ranges that have arrived beyond the acknowledgement.
    pub sack: SackBlocks,
    /// Cookie of Fast Open, or the request for one; on SYN only.
    pub fast_open: Option<FastOpenCookie>,
}

/// Cookie by which a server knows a client's address again (RFC 7413, section 4.1.1); an empty one asks for a cookie.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct FastOpenCookie {
    bytes: [u8; Self::MAX_LEN],
    len: u8,
}

impl FastOpenCookie {
    /// Bytes of a cookie at least, and at most.
    pub const MIN_LEN: usize = 4;
    /// See [`MIN_LEN`](Self::MIN_LEN).
    pub const MAX_LEN: usize = 16;

    /// The request for a cookie.
    pub const REQUEST: Self = Self { bytes: [0; Self::MAX_LEN], len: 0 };

    /// The cookie of these bytes; None if it is no cookie: they are an even number of 4 to 16, or none for a request.
    #[must_use]
    pub fn new(cookie: &[u8]) -> Option<Self> {
        let fits = cookie.is_empty() || (Self::MIN_LEN..=Self::MAX_LEN).contains(&cookie.len());
        if !fits || !cookie.len().is_multiple_of(2) {
            return None;
        }
        let mut new = Self::REQUEST;
        new.bytes[..cookie.len()].copy_from_slice(cookie);
        new.len = u8::try_from(cookie.len()).ok()?;
        Some(new)
    }

    /// Its bytes; none if it is a request.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// True if it asks for a cookie.
    #[must_use]
    pub fn is_request(&self) -> bool {
        self.len == 0
    }
}

impl fmt::Debug for FastOpenCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cookie ")?;
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Ranges of sequence numbers that have arrived: left edge and the number behind the right one, the most recent first.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); Self::MOST],
    len: u8,
}

impl SackBlocks {
    /// Most blocks for which the header has room.
    pub const MOST: usize = 4;

    /// Adds a block; false if there is no room.
    pub fn push(&mut self, block: (u32, u32)) -> bool {
        let place = self.blocks.get_mut(usize::from(self.len));
        place.is_some_and(|place| {
            (*place, self.len) = (block, self.len + 1);
            true
        })
    }

    /// All blocks.
    #[must_use]
    pub fn all(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(u8::try_from(len).unwrap_or(self.len));
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

impl TcpOptions {
    /// Most bytes of options in a header.
    pub const MAX_LEN: usize = 40;
    /// Largest shift of a window (RFC 7323, section 2.3).
    pub const MAX_SHIFT: u8 = 14;

    /// Reads the options of a header. What follows one with an impossible length is not read (RFC 9293, section 3.1,
    /// MUST-7).
    #[must_use]
    #[inline]
    pub fn parse(bytes: &[u8]) -> Self {
        // Most segments have timestamps alone, as RFC 7323's appendix A lays them out.
        if let [1, 1, 8, 10, a, b, c, d, e, f, g, h] = *bytes {
            let timestamps = Some((u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h])));
            return Self { timestamps, ..Self::default() };
        }
        Self::parse_any(bytes)
    }

    fn parse_any(mut bytes: &[u8]) -> Self {
        let mut options = Self::default();
        while let [kind, rest @ ..] = bytes {
            match *kind {
                kind::END => break,
                kind::NOP => bytes = rest,
                kind => {
                    let len = rest.first().map_or(0, |len| usize::from(*len));
                    let Some(value) = bytes.get(2..len) else { break };
                    options.take(kind, value);
                    bytes = &bytes[len..];
                }
            }
        }
        options
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        match (kind, value) {
            (kind::MSS, [a, b]) => self.mss = Some(u16::from_be_bytes([*a, *b])),
            (kind::WINDOW_SCALE, [shift]) => self.window_scale = Some((*shift).min(Self::MAX_SHIFT)),
            (kind::SACK_PERMITTED, []) => self.sack_permitted = true,
            (kind::TIMESTAMPS, value) => {
                if let ([value, echo], []) = value.as_chunks::<4>() {
                    self.timestamps = Some((u32::from_be_bytes(*value), u32::from_be_bytes(*echo)));
                }
            }
            (kind::FAST_OPEN, value) => self.fast_open = FastOpenCookie::new(value).or(self.fast_open),
            (kind::SACK, value) => {
                if let (blocks, []) = value.as_chunks::<8>() {
                    for [a, b, c, d, e, f, g, h] in blocks {
                        self.sack.push((u32::from_be_bytes([*a, *b, *c, *d]), u32::from_be_bytes([*e, *f, *g, *h])));
                    }
                }
            }
            _ => {}
        }
    }

    /// Bytes of the options, padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        let syn = [self.mss.map_or(0, |_| 4), self.window_scale.map_or(0, |_| 4)];
        // On SYN, SACK permitted stands in the two bytes before timestamps that are else padding.
        let permitted = if self.sack_permitted && self.timestamps.is_none() { 4 } else { 0 };
        let sack = if self.sack.len == 0 { 0 } else { 4 + 8 * self.sack.all().len() };
        let cookie = self.fast_open.map_or(0, |cookie| (2 + cookie.bytes().len()).next_multiple_of(4));
        syn.iter().sum::<usize>() + permitted + self.timestamps.map_or(0, |_| 12) + sack + cookie
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the options, each aligned as RFC 7323's appendix A and the usual systems do; returns their bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when there is no room for them.
    pub fn emit(&self, to: &mut [u8]) -> Result<usize, Error> {
        let len = self.len();
        if len > Self::MAX_LEN || to.len() < len {
            return Err(Error::Truncated(NAME));
        }
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            to[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        if let Some(mss) = self.mss {
            put(&[kind::MSS, 4]);
            put(&mss.to_be_bytes());
        }
        if let Some((value, echo)) = self.timestamps {
            put(if self.sack_permitted { &[kind::SACK_PERMITTED, 2] } else { &[kind::NOP, kind::NOP] });
            put(&[kind::TIMESTAMPS, 10]);
            put(&value.to_be_bytes());
            put(&echo.to_be_bytes());
        } else if self.sack_permitted {
            put(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]);
        }
        if let Some(shift) = self.window_scale {
            put(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
        }
        if self.sack.len > 0 {
            put(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * self.sack.len]);
            for (left, right) in self.sack.all() {
                put(&left.to_be_bytes());
                put(&right.to_be_bytes());
            }
        }
        if let Some(cookie) = self.fast_open {
            if cookie.len % 4 == 0 {
                put(&[kind::NOP, kind::NOP]);
            }
            put(&[kind::FAST_OPEN, 2 + cookie.len]);
            put(cookie.bytes());
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::TcpOptionElement::*;
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
        let mut sack = SackBlocks::default();
        blocks.iter().for_each(|block| assert!(sack.push(*block)));
        sack
    }

    #[test]
    fn a_syn_is_laid_out_as_linux_does() {
        let options = TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((0x0102_0304, 0)),
            ..TcpOptions::default()
        };
        let mut bytes = [0; 40];
        let len = options.emit(&mut bytes).unwrap();
        let right = [2, 4, 0x05, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7];
        assert_eq!(bytes[..len], right);
        assert_eq!(TcpOptions::parse(&right), options);
        // The longest cookie fills the header (RFC 7413, section 4.1.1).
        let cookie = FastOpenCookie::new(&[7; 16]);
        let full = TcpOptions { fast_open: cookie, ..options };
        assert_eq!((full.emit(&mut bytes), &bytes[22..24], &bytes[24..]), (Ok(40), &[34, 18][..], &[7; 16][..]));
        let asks = TcpOptions { fast_open: Some(FastOpenCookie::REQUEST), ..TcpOptions::default() };
        assert_eq!((asks.emit(&mut bytes), &bytes[..4]), (Ok(4), &[1, 1, 34, 2][..]));
    }

    #[test]
    fn rfc7413_4_1_1_a_cookie_has_an_even_number_of_4_to_16_bytes() {
        for len in 0..=20_u8 {
            let mut bytes = vec![34, 2 + len];
            bytes.resize(2 + usize::from(len), 5);
            bytes.extend([2, 4, 5, 0xb4]);
            let options = TcpOptions::parse(&bytes);
            let cookie = options.fast_open.map(|cookie| cookie.bytes().to_vec());
            let right = [0, 4, 6, 8, 10, 12, 14, 16].contains(&len);
            assert_eq!(cookie, right.then(|| vec![5; len.into()]), "{len} bytes");
            assert_eq!(options.fast_open.is_some_and(|cookie| cookie.is_request()), len == 0);
            assert_eq!(options.mss, Some(1460), "{len}: what follows is read");
        }
        assert_eq!(TcpOptions::parse(&[34, 1, 2, 4, 5, 0xb4]), TcpOptions::default(), "an impossible length");
        assert_eq!(format!("{:?}", FastOpenCookie::new(&[1, 2, 3, 255]).unwrap()), "cookie 010203ff");
    }

    #[test]
    fn a_wrong_length_ends_the_options() {
        for bytes in [&[2, 4, 5, 0xb4, 8, 0, 3, 3, 7][..], &[2, 4, 5, 0xb4, 3, 1, 3, 3, 7], &[2, 4, 5, 0xb4, 8, 10, 1]]
        {
            assert_eq!(TcpOptions::parse(bytes), TcpOptions { mss: Some(1460), ..TcpOptions::default() }, "{bytes:?}");
        }
        assert_eq!(TcpOptions::parse(&[3, 3, 200]).window_scale, Some(14), "RFC 7323, section 2.3");
        assert_eq!(TcpOptions::parse(&[0, 2, 4, 5, 0xb4]).mss, None, "behind the end");
        assert_eq!(TcpOptions::parse(&[254, 4, 1, 1, 2, 4, 5, 0xb4]).mss, Some(1460), "an unknown one is stepped over");
        assert_eq!(
            TcpOptions::parse(&[2, 3, 5, 1, 2, 4, 5, 0xb4]).mss,
            Some(1460),
            "one of a length that it never has"
        );
    }

    #[test]
    fn what_has_no_room_is_refused() {
        let full = TcpOptions { timestamps: Some((1, 2)), sack: sack(&[(1, 2); 4]), ..TcpOptions::default() };
        assert_eq!(full.len(), 48);
        assert_eq!(full.emit(&mut [0; 60]), Err(Error::Truncated(NAME)));
        let mut three = full;
        three.sack.truncate(3);
        assert_eq!(three.emit(&mut [0; 40]), Ok(40));
        assert_eq!(three.emit(&mut [0; 39]), Err(Error::Truncated(NAME)));
        assert!(!three.sack.push((1, 2)) || three.sack.all().len() == 4);
    }

    proptest! {
        #[test]
        fn options_come_back_and_are_etherparses(
            mss in option::of(any::<u16>()), window_scale in option::of(0..=14_u8), sack_permitted: bool,
            timestamps in option::of(any::<(u32, u32)>()), blocks in vec(any::<(u32, u32)>(), 0..=2),
            cookie in option::of(vec(any::<u8>(), 0..=16)),
        ) {
            let fast_open = cookie.and_then(|cookie| FastOpenCookie::new(&cookie));
            let ours = TcpOptions { mss, window_scale, sack_permitted, timestamps, sack: sack(&blocks), fast_open };
            let mut bytes = [0; 44];
            if ours.len() > 40 {
                prop_assert_eq!(ours.emit(&mut bytes), Err(Error::Truncated(NAME)));
                return Ok(());
            }
            let len = ours.emit(&mut bytes).unwrap();
            prop_assert_eq!((len, len % 4), (ours.len(), 0));
            prop_assert_eq!(TcpOptions::parse(&bytes[..len]), ours);
            // It knows no Fast Open, which comes last.
            let known = TcpOptions { fast_open: None, ..ours }.len();
            for option in etherparse::TcpOptionsIterator::from_slice(&bytes[..known]) {
                match option.unwrap() {
                    Noop => {}
                    MaximumSegmentSize(size) => prop_assert_eq!(mss, Some(size)),
                    WindowScale(shift) => prop_assert_eq!(window_scale, Some(shift)),
                    SelectiveAcknowledgementPermitted => prop_assert!(sack_permitted),
                    Timestamp(value, echo) => prop_assert_eq!(timestamps, Some((value, echo))),
                    SelectiveAcknowledgement(first, rest) => {
                        let all: Vec<_> = std::iter::once(first).chain(rest.into_iter().flatten()).collect();
                        prop_assert_eq!(&all, &blocks);
                    }
                }
            }
        }

        #[test]
        fn hostile_options_do_not_panic(bytes in vec(any::<u8>(), 0..64)) {
            let options = TcpOptions::parse(&bytes);
            prop_assert!(options.window_scale.is_none_or(|shift| shift <= 14));
        }
    }
}
