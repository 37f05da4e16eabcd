//! A parsed port name, and the values of its options.

use super::Kind;
use crate::clock::Clock;
use crate::error::OpenError;
use linerate_ring::{HEADROOM, layout::MAX_FRAGS};
use linerate_text::{path::shown, power, short, whole};
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
    clock: Clock,
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
        Self {
            kind,
            name: name.to_owned(),
            queue,
            text: text.to_owned(),
            options,
            unnamed_mtu: 1500,
            clock: Clock::default(),
        }
    }

    /// Sets the MTU to use when the options name none, for kinds without an MTU of their own; the MTU of the other end
    /// takes precedence.
    #[must_use]
    pub fn wanting_mtu(self, mtu: u16) -> Self {
        Self { unnamed_mtu: mtu, ..self }
    }

    /// Lets a cable within this process, and the faults of any port, go by this clock instead of the machine's. The first end of a cable
    /// decides for both.
    #[must_use]
    pub fn with_clock(self, clock: &Clock) -> Self {
        Self { clock: clock.clone(), ..self }
    }

    /// Clock that it goes by.
    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Uses this value of an option where the name gives none; a kind without that option does not ask for it.
    #[must_use]
    pub fn preferring(mut self, key: &'static str, value: &str) -> Self {
        self.options.entry(key).or_insert_with(|| value.to_owned());
        self
    }

    /// Kind and name, without queue and options: what a virtual interface of an adapter on this port has before its `/viN`.
    #[must_use]
    pub fn key(&self) -> String {
        if self.interface().is_some() { self.name.clone() } else { format!("{}:{}", self.kind.name, self.name) }
    }

    /// The port and the number of the virtual interface that this is; None if it is another kind of port.
    #[must_use]
    pub fn interface(&self) -> Option<(&str, usize)> {
        let (port, number) = self.name.rsplit_once("/vi").filter(|_| self.kind.name == "vi")?;
        Some((port, number.parse().ok()?))
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
    pub fn number<T>(&self, key: &str, default: T, least: T, most: T) -> Result<T, OpenError>
    where
        T: TryFrom<u64> + Into<u64> + Copy,
    {
        let n = self.scaled(key, 1024, least.into(), most.into())?;
        // No more than `most`, so it fits the type.
        Ok(n.map_or(default, |n| T::try_from(n).unwrap_or(most)))
    }

    /// Option `rate` in bit/s, with an optional K, M or G (powers of 1000).
    pub fn rate(&self) -> Result<Option<u64>, OpenError> {
        self.scaled("rate", 1000, 1_000, 10_000_000_000_000)
    }

    fn scaled(&self, key: &str, kilo: u64, least: u64, most: u64) -> Result<Option<u64>, OpenError> {
        let Some(text) = self.option(key) else { return Ok(None) };
        let n = whole(text, |letter| power(letter, kilo)).filter(|n| (least..=most).contains(n));
        n.map(Some).ok_or_else(|| {
            self.oops(
                format!("{key}={} will not do", short(text, 40)),
                format!("give a number from {least} to {most} (K, M, G may follow)"),
            )
        })
    }

    /// Slots of each ring.
    pub fn slots(&self) -> Result<u32, OpenError> {
        let n = self.number("slots", 1024u32, 64, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("slots={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(n)
    }

    /// Largest payload of a frame.
    pub fn mtu(&self) -> Result<usize, OpenError> {
        self.mtu_16().map(usize::from)
    }

    /// Largest payload of a frame, in the width that it needs.
    pub(crate) fn mtu_16(&self) -> Result<u16, OpenError> {
        self.number("mtu", self.unnamed_mtu, 64, 65000)
    }

    /// Bytes of a buffer: the option's, or the smallest that holds headroom, MTU and 22 bytes of Ethernet and tags.
    pub fn buf_size(&self) -> Result<u32, OpenError> {
        let frame = HEADROOM + self.mtu()? + 22;
        let needed = (9..16).map(|bits| 1u32 << bits).find(|size| *size as usize >= frame).unwrap_or(65536);
        let n = self.number("buf", needed, 512, 65536)?;
        if !n.is_power_of_two() {
            return Err(self.oops(format!("buf={n} is no power of two"), format!("give {}", n.next_power_of_two())));
        }
        Ok(n)
    }

    /// Checks that the port's rings can hold a frame of `largest` bytes.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "the kinds that use it are Linux's"))]
    pub(crate) fn check_largest(&self, largest: usize) -> Result<(), OpenError> {
        let (slots, buf_size) = (self.slots()?, self.buf_size()?);
        let needed = largest.div_ceil(buf_size as usize - HEADROOM);
        if needed < slots as usize && needed <= MAX_FRAGS {
            return Ok(());
        }
        let what = format!("a frame may need {needed} slots of {buf_size} bytes");
        Err(self.oops(what, "give larger buffers (buf=) or more slots (slots=)"))
    }
}
