//! `pcap:FILE`: a capture file as a port. An existing file is read on receive; a new one is written on transmit. An
//! existing file is overwritten only with `mode=w` or `out=`.
//!
//! Frames are delivered as captured, independent of the MTU: a frame longer than a buffer becomes a chain, and only one
//! that needs more than 64 slots (or the ring) is dropped. The link of the receive queue goes down at the end of the
//! file.

mod pace;
mod rx;
mod tx;

use crate::capture::{CaptureError, Reader, Source, Writer};
use crate::error::{Cause, OpenError};
use crate::info::{Caps, Info, Link};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::{Device, Parts};
use crate::queue::{RxQueue, TxQueue};
use linerate_ring::{RxRing, TxRing};
use linerate_text::{decimal, path::from_text};
use pace::Pace;
use rx::{PcapRx, State};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use tx::PcapTx;

pub(crate) const KIND: Kind = Kind {
    name: "pcap",
    about: "a capture file: read if it exists, else written",
    example: "pcap:FILE",
    needs_name: true,
    is_path: true,
    queue_suffix: false,
    options: &[
        OptionRow {
            key: "mode",
            value: "r|w",
            about: "r reads FILE (- for standard input, .gz too), w writes it over (r if it exists, else w)",
        },
        OptionRow { key: "out", value: "FILE", about: "read the port's FILE and write over this one (none)" },
        OptionRow { key: "pace", value: "on|off", about: "read with the original timing (off)" },
        OptionRow { key: "speed", value: "X", about: "read X times as fast, 0.001 to 1000; sets pace=on (1)" },
        OptionRow {
            key: "if",
            value: "N",
            about: "read this interface of a pcapng file alone, from 0 (all Ethernet ones)",
        },
        OptionRow { key: "loop", value: "N|forever", about: "times to read it (1)" },
    ],
    demand,
    open,
};

/// Parsed options of the port.
struct PcapOptions<'a> {
    read: Option<&'a str>,
    write: Option<&'a str>,
    /// Speed in millionths.
    speed: Option<u64>,
    /// Passes after the first one; None without end.
    passes: Option<u64>,
    /// Number of the only interface to read.
    only: Option<u32>,
}

impl<'a> PcapOptions<'a> {
    fn parse(spec: &'a Spec) -> Result<Self, OpenError> {
        let file = spec.name.as_str();
        let out = spec.option("out");
        let reads = match spec.option("mode") {
            Some("r") => true,
            Some("w") => false,
            Some(_) => return Err(spec.oops("mode= will not do", "give mode=r or mode=w")),
            None if file == "-" && out.is_none() => {
                return Err(spec.oops("standard input or output?", "give mode=r to read it, mode=w to write it"));
            }
            None => out.is_some() || from_text(file).exists(),
        };
        let speed = speed(spec)?;
        let passes = match spec.option("loop") {
            None => Some(0),
            Some("forever") => None,
            Some(_) => Some(spec.number("loop", 1, 1, u64::MAX)? - 1),
        };
        let only = spec.option("if").map(|_| spec.number("if", 0, 0, u32::MAX)).transpose()?;
        if !reads {
            if let Some(key) = ["out", "pace", "speed", "loop", "if"].into_iter().find(|key| spec.option(key).is_some())
            {
                return Err(spec.oops(format!("{key}= is for a file that is read"), "leave it out, or give mode=r"));
            }
            return Ok(Self { read: None, write: Some(file), speed, passes, only });
        }
        Ok(Self { read: Some(file), write: out, speed, passes, only })
    }
}

/// Speed in millionths; None if time-stamps are ignored.
fn speed(spec: &Spec) -> Result<Option<u64>, OpenError> {
    let paced = match spec.option("pace") {
        None => None,
        Some("on") => Some(true),
        Some("off") => Some(false),
        Some(_) => return Err(spec.oops("pace= will not do", "give pace=on or pace=off")),
    };
    let Some(text) = spec.option("speed") else { return Ok((paced == Some(true)).then_some(1_000_000)) };
    if paced == Some(false) {
        return Err(spec.oops("speed= and pace=off contradict each other", "leave one of them out"));
    }
    let speed = decimal(text, 6).filter(|n| (1_000..=1_000_000_000).contains(n));
    speed.map(Some).ok_or_else(|| spec.oops("speed= will not do", "give a number from 0.001 to 1000"))
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    PcapOptions::parse(spec)?;
    // Demand for both directions, because the file may appear or vanish before it is opened.
    Ok(Demand::rings(1, 1, spec.slots()?, spec.buf_size()?))
}

fn refused(spec: &Spec, error: &CaptureError) -> OpenError {
    let cause = match error {
        CaptureError::Open { source, .. } if source.kind() == ErrorKind::NotFound => Cause::Missing,
        CaptureError::Busy { .. } => Cause::Busy,
        CaptureError::Empty { .. }
        | CaptureError::NotCapture { .. }
        | CaptureError::Packed { .. }
        | CaptureError::LinkType { .. }
        | CaptureError::NoInterface { .. } => Cause::Usage,
        _ => Cause::System,
    };
    OpenError::new(spec, cause, error.what(), error.mend())
}

fn reader(spec: &Spec, name: &str, plan: &PcapOptions<'_>) -> Result<Reader, OpenError> {
    // Opening a port must not block on a pipe.
    let source = Source::open(&from_text(name), false).map_err(|e| refused(spec, &e))?;
    if source.is_pipe() && plan.passes != Some(0) {
        return Err(spec.oops("a pipe can be read only once", "leave loop= out"));
    }
    let mut reader = Reader::new(name, source).only(plan.only);
    match reader.look_ahead() {
        Err(error) if !error.is_later() => Err(refused(spec, &error)),
        _ => Ok(reader),
    }
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let plan = PcapOptions::parse(spec)?;
    let slots = spec.slots()?;
    let oops = |e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let status = Arc::new(Status::default());
    let (mut tx, mut rx, mut path) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(name) = plan.read {
        let reader = reader(spec, name, &plan)?;
        let (passes, pace) = (plan.passes, plan.speed.map(Pace::new));
        let engine = PcapRx { reader, status: status.clone(), pace, passes, state: State::default() };
        rx.push(RxQueue::new(RxRing::new(context.region, 0, slots).map_err(oops)?, Box::new(engine)));
        path.push("capture file, read");
    }
    if let Some(name) = plan.write {
        let writer = Writer::create(&from_text(name)).map_err(|e| refused(spec, &e))?;
        let engine = PcapTx { writer, status: status.clone(), held: 0 };
        tx.push(TxQueue::new(TxRing::new(context.region, 0, slots).map_err(oops)?, Box::new(engine)));
        path.push("capture file, written");
    }
    let info = Info {
        name: spec.to_string(),
        path: path.join("; "),
        mtu: spec.mtu()?,
        largest: spec.mtu()? + 22,
        mac: None,
        caps: Caps { scatter: true, ..Caps::default() },
        tx_queues: tx.len(),
        rx_queues: rx.len(),
        slots,
        rate: None,
        notes: Vec::new(),
    };
    let (reads, writes) = (!rx.is_empty(), !tx.is_empty());
    Ok(Parts { info, tx, rx, device: Box::new(CaptureFile { status, reads, writes }) })
}

/// State that the queues report to the port.
#[derive(Debug, Default)]
struct Status {
    rx_down: AtomicBool,
    tx_down: AtomicBool,
    truncated: AtomicU64,
    other: AtomicU64,
    passes: AtomicU64,
    trouble: OnceLock<String>,
}

impl Status {
    fn fail(&self, error: &CaptureError) {
        let _ = self.trouble.set(error.to_string());
    }

    fn set_rx(&self, link: Link) {
        self.rx_down.store(link == Link::Down, Relaxed);
    }

    fn set_tx(&self, link: Link) {
        self.tx_down.store(link == Link::Down, Relaxed);
    }
}

struct CaptureFile {
    status: Arc<Status>,
    reads: bool,
    writes: bool,
}

impl Device for CaptureFile {
    /// Link state: up while either direction is up.
    fn link(&self) -> Link {
        let (rx, tx) = (self.status.rx_down.load(Relaxed), self.status.tx_down.load(Relaxed));
        if (self.reads && !rx) || (self.writes && !tx) { Link::Up } else { Link::Down }
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        if !self.reads {
            return Vec::new();
        }
        let of = |name: &str, n: &AtomicU64| (name.to_owned(), n.load(Relaxed));
        // These frames are delivered all the same, so they are no drops.
        vec![
            of("capture_truncated", &self.status.truncated),
            of("capture_other_interfaces", &self.status.other),
            of("capture_repeats", &self.status.passes),
        ]
    }

    fn trouble(&self) -> Option<String> {
        self.status.trouble.get().cloned()
    }
}
