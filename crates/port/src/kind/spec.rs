//! A parsed port name, and the values of its options.

use super::Kind;
use super::number::scaled;
use crate::error::{OpenError, tidy};
use crate::path::shown;
use std::collections::BTreeMap;
use std::fmt;

/// A parsed port name: the kind and the keys are known; values are checked when the port is opened.
#[derive(Clone)]
pub struct Spec {
    /// The row of its kind.
    pub kind: &'static Kind,
    /// Name after the colon, without queue and options.
    pub name: String,
    /// The one queue asked for by `@N`.
    pub queue: Option<u16>,
    text: String,
    options: BTreeMap<&'static str, String>,
    /// MTU to use when the options name none.
    unnamed_mtu: u16,
}

impl fmt::Debug for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({})", self.text)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.text))
    }
}

impl Spec {
    /// Spec from the parts that the grammar finds in a name.
    pub(crate) fn new(
        kind: &'static Kind,
        name: &str,
        queue: Option<u16>,
        text: &str,
        options: BTreeMap<&'static str, String>,
    ) -> Self {
        Self { kind, name: name.to_owned(), queue, text: text.to_owned(), options, unnamed_mtu: 1500 }
    }

    /// Sets the MTU to use when the options name none, for kinds without an MTU of their own; the MTU of the other end
    /// takes precedence.
    #[must_use]
    pub fn wanting_mtu(self, mtu: u16) -> Self {
        Self { unnamed_mtu: mtu, ..self }
    }

    /// Value of an option as typed.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// Usage error for this port.
    pub fn oops(&self, what: impl fmt::Display, mend: impl fmt::Display) -> OpenError {
        OpenError::usage(&self.text, what, mend)
    }

    /// Value of an option as a number with an optional K, M or G (powers of 1024), within a range.
    pub fn number(&self, key: &str, default: u64, least: u64, most: u64) -> Result<u64, OpenError> {
        self.scaled(key, 1024, least, most).map(|n| n.unwrap_or(default))
    }

    /// Option `rate` in bit/s, with an optional K, M or G (powers of 1000).
    pub fn rate(&self) -> Result<Option<u64>, OpenError> {
        self.scaled("rate", 1000, 1_000, 10_000_000_000_000)
    }

    fn scaled(&self, key: &str, kilo: u64, least: u64, most: u64) -> Result<Option<u64>, OpenError> {
        let Some(text) = self.option(key) else { return Ok(None) };
        let n = scaled(text, kilo).filter(|n| (least..=most).contains(n));
        n.map(Some).ok_or_else(|| {
            self.oops(
                format!("{key}={} will not do", tidy(text)),
                format!("give a number from {least} to {most} (K, M, G may follow)"),
            )
        })
    }

    /// Slots of each ring.
    pub fn slots(&self) -> Result<u32, OpenError> {
        let n = self.number("slots", 1024, 64, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("slots={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(u32::try_from(n).unwrap_or(65536))
    }

    /// Largest payload of a frame.
    pub fn mtu(&self) -> Result<usize, OpenError> {
        self.number("mtu", self.unnamed_mtu.into(), 64, 65000).map(|n| usize::try_from(n).unwrap_or(1500))
    }

    /// Bytes of a buffer: the option's, or the smallest that holds headroom, MTU and 22 bytes of Ethernet and tags.
    pub fn buf_size(&self) -> Result<u32, OpenError> {
        let needed = (linerate_ring::HEADROOM + self.mtu()? + 22).next_power_of_two().min(65536);
        let n = self.number("buf", needed as u64, 512, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("buf={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(u32::try_from(n).unwrap_or(65536))
    }
}
