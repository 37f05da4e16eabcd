//! Values as iperf3 reads them: any number is a whole one, cut to its range; a flag is set by being there.

use serde::de::{Deserializer, Error, Visitor};
use std::fmt;

struct Whole;

impl Visitor<'_> for Whole {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number that is not negative")
    }

    fn visit_u64<E: Error>(self, n: u64) -> Result<u64, E> {
        Ok(n)
    }

    fn visit_i64<E: Error>(self, n: i64) -> Result<u64, E> {
        u64::try_from(n).map_err(|_| E::custom("a negative number"))
    }

    fn visit_f64<E: Error>(self, n: f64) -> Result<u64, E> {
        if n.is_nan() || n < 0.0 {
            return Err(E::custom("a negative number"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "cut to the range, as iperf3 does")]
        Ok(n as u64)
    }

    fn visit_bool<E: Error>(self, set: bool) -> Result<u64, E> {
        Ok(u64::from(set))
    }
}

/// Reads a number.
pub(super) fn whole<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    from.deserialize_any(Whole)
}

/// Reads a number; a negative one, which iperf3 also writes as 2^64 less so much, says that it is not known.
pub(super) fn known<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    struct Known;
    impl Visitor<'_> for Known {
        type Value = Option<u64>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a number")
        }

        fn visit_u64<E: Error>(self, n: u64) -> Result<Option<u64>, E> {
            Ok(i64::try_from(n).is_ok().then_some(n))
        }

        fn visit_i64<E: Error>(self, n: i64) -> Result<Option<u64>, E> {
            Ok(u64::try_from(n).ok())
        }

        fn visit_f64<E: Error>(self, n: f64) -> Result<Option<u64>, E> {
            if !(0.0..9.2e18).contains(&n) { Ok(None) } else { Whole.visit_f64(n).map(Some) }
        }
    }
    from.deserialize_any(Known)
}

/// Reads a flag: it is set, whatever its value.
pub(super) fn present<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    serde::de::Deserialize::deserialize(from).map(|serde::de::IgnoredAny| true)
}
