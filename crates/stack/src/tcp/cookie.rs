//! SYN cookies (RFC 4987, section 3.6): where no more handshakes can be remembered, the answer to a SYN says all that is
//! needed to go on with the acknowledgement of it.
//!
//! ```text
//! initial sequence number    tick of 64 s, mod 32 (5)   segment size (3)   keyed hash (24)
//! timestamp                  milliseconds (26)          SACK (1)   the peer's window scale, 31 for none (5)
//! ```

use super::seq::Seq;
use super::sockets::Ends;
use super::{Config, Connection, Outgoing, SECOND, Segment, low};
use crate::secret::{Secret, Use};
use linerate_wire::{TcpFlags, TcpOptions};
use std::hash::BuildHasher;

/// Time of a tick, ns.
const TICK: u64 = 64 * SECOND;
/// Time after the last cookie for which they are looked for: one is taken in its tick and in the next.
pub(super) const LIFE: u64 = 2 * TICK;
/// Segment sizes that a cookie can say; a peer is given the greatest that it takes.
const SIZES: [u16; 8] = [88, 536, 1200, 1360, 1440, 1460, 4312, 8940];
/// Low bits of a timestamp that say options, and those of none.
const BITS: u32 = 0x3f;
const UNSCALED: u32 = 0x1f;
const SACK: u32 = 0x20;

fn hash(secret: Secret, ends: Ends, peer: Seq, tick: u64, size: u32) -> u32 {
    low(secret.key(Use::SynCookie).hash_one((ends, peer, tick, size))) & 0x00ff_ffff
}

/// The initial sequence number that answers a SYN with this number and segment size.
pub(super) fn make(now: u64, secret: Secret, ends: Ends, peer: Seq, mss: Option<u16>) -> Seq {
    let tick = now / TICK;
    let takes = mss.unwrap_or(536);
    let size = super::count(SIZES.iter().rposition(|size| *size <= takes).unwrap_or(0));
    Seq(low(tick % 32) << 27 | size << 24 | hash(secret, ends, peer, tick, size))
}

/// The segment size in a cookie; None if it is none of ours, or too old.
pub(super) fn check(now: u64, secret: Secret, ends: Ends, peer: Seq, cookie: Seq) -> Option<u16> {
    let ticks = [Some(now / TICK), (now / TICK).checked_sub(1)];
    let tick = ticks.into_iter().flatten().find(|tick| low(tick % 32) == cookie.0 >> 27)?;
    let size = cookie.0 >> 24 & 7;
    (hash(secret, ends, peer, tick, size) == cookie.0 & 0x00ff_ffff).then(|| SIZES[size as usize])
}

/// A timestamp of ours, at most 64 ms older, that says the options of the peer's SYN.
pub(super) fn stamp(value: u32, options: &TcpOptions) -> u32 {
    let shift = options.window_scale.map_or(UNSCALED, u32::from);
    let bits = shift | if options.sack_permitted { SACK } else { 0 };
    let with = value & !BITS | bits;
    if value & BITS < bits { with.wrapping_sub(BITS + 1) } else { with }
}

/// The segment that answers a SYN with a cookie, `iss`: that of the connection which it would begin.
pub(super) fn answer(
    now: u64,
    config: &Config,
    mss: u32,
    iss: Seq,
    offset: u32,
    syn: &Segment<'_>,
) -> Option<Outgoing<'static>> {
    // Without timestamps nothing tells the other options later: they are not agreed on.
    let mut agreed = TcpOptions { mss: syn.options.mss, ..TcpOptions::default() };
    if config.timestamps && syn.options.timestamps.is_some() {
        agreed = syn.options;
    }
    let mut answer = None;
    // Nothing tells of ECN either.
    let syn = Segment { options: agreed, flags: TcpFlags::SYN, ..*syn };
    let mut begun = Connection::accept(now, config, mss, iss, offset, &syn);
    begun.poll(now, &mut |out| {
        let timestamps = out.options.timestamps.map(|(value, echo)| (stamp(value, &agreed), echo));
        answer =
            Some(Outgoing { payload: Outgoing::NO_DATA, options: TcpOptions { timestamps, ..out.options }, ..*out });
        true
    });
    answer
}

/// The options of a SYN that a cookie was sent for, as its acknowledgement echoes them; `mss` is the cookie's.
pub(super) fn options(mss: u16, timestamps: Option<(u32, u32)>) -> TcpOptions {
    let echo = timestamps.map(|(_, echo)| echo);
    let shift = echo.map(|echo| echo & UNSCALED).filter(|shift| *shift != UNSCALED);
    TcpOptions {
        mss: Some(mss),
        window_scale: shift.and_then(|shift| u8::try_from(shift).ok()),
        sack_permitted: echo.is_some_and(|echo| echo & SACK != 0),
        timestamps,
        ..TcpOptions::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Key;
    use std::net::IpAddr;

    fn ends(port: u16) -> Ends {
        Ends((Key::new(IpAddr::from([10, 0, 0, 1])), 80), (Key::new(IpAddr::from([10, 0, 0, 2])), port))
    }

    #[test]
    fn a_cookie_is_good_for_its_peer_in_its_tick_and_the_next() {
        for (takes, says) in [(None, 536), (Some(50), 88), (Some(1459), 1440), (Some(1460), 1460), (Some(65_535), 8940)]
        {
            let now = 1000 * TICK + 5;
            let cookie = make(now, Secret::new(7), ends(4000), Seq(300), takes);
            assert_eq!(check(now, Secret::new(7), ends(4000), Seq(300), cookie), Some(says));
            assert_eq!(check(now + TICK, Secret::new(7), ends(4000), Seq(300), cookie), Some(says));
            assert_eq!(check(now + 2 * TICK, Secret::new(7), ends(4000), Seq(300), cookie), None, "too old");
            assert_eq!(
                check(now + 32 * TICK, Secret::new(7), ends(4000), Seq(300), cookie),
                None,
                "its tick's number comes again"
            );
            assert_eq!(check(now, Secret::new(7), ends(4001), Seq(300), cookie), None, "of another peer");
            assert_eq!(check(now, Secret::new(7), ends(4000), Seq(301), cookie), None, "of another SYN");
            assert_eq!(check(now, Secret::new(8), ends(4000), Seq(300), cookie), None, "of another host");
            for bit in 0..32 {
                assert_eq!(
                    check(now, Secret::new(7), ends(4000), Seq(300), Seq(cookie.0 ^ 1 << bit)),
                    None,
                    "bit {bit}"
                );
            }
        }
    }

    #[test]
    fn a_timestamp_says_the_options_and_is_not_in_the_future() {
        for (window_scale, sack_permitted) in [(None, false), (None, true), (Some(0), true), (Some(14), false)] {
            for value in [0, 31, 63, 64, 1_000_000_007, u32::MAX] {
                let told = stamp(value, &TcpOptions { window_scale, sack_permitted, ..TcpOptions::default() });
                assert!(value.wrapping_sub(told) <= 64, "{value} {told}");
                let read = options(1460, Some((9, told)));
                assert_eq!(
                    (read.mss, read.window_scale, read.sack_permitted),
                    (Some(1460), window_scale, sack_permitted)
                );
            }
        }
        let none = options(536, None);
        assert_eq!((none.window_scale, none.sack_permitted, none.timestamps), (None, false, None));
    }
}
