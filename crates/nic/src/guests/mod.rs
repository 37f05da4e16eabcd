//! The programs behind an adapter's virtual interfaces: each takes one at a listener ([`linerate_port::switch::Listener`]) and
//! has memory of its own with the adapter. Frames are copied between that memory and the port, in one thread.
//!
//! What a program sends goes to the port by [`NicTx`], which divides the link and knows the caps, and to other interfaces
//! of the adapter right here; what the port delivers is given out by [`NicRx`]. A frame that a program may not send is
//! refused and counted ([`GuestPolicy`]). One that finds no room at the port waits in the program's ring; one that finds
//! none at a program is dropped.
//!
//! Out of scope: learning. The adapter knows its interfaces' addresses, and all others are beyond the port.

mod into;
mod ledger;
mod out;
mod own;
mod policy;
mod words;

pub use ledger::{Fate, GuestCounters, GuestLedger, InterfaceReport, UplinkReport};
pub use policy::GuestPolicy;
pub use words::setting_of;

use crate::adapter::{Control, MAX_INTERFACES, Nic, NicConfig, NicError, NicRx, NicTx, ViSettings};
use crate::flags::{Flags, PUBLISHED};
use into::Desk;
use linerate_port::switch::{Grant, Guest, Listener};
use linerate_port::{Drops, Link, Port, Sleeper, TxCounters};

/// Rounds in which programs are served in one turn, at most.
const PASSES: u32 = 8;

/// Programs at an adapter's interfaces; see the module's text.
pub struct Guests {
    control: Control,
    tx: NicTx,
    rx: Vec<NicRx>,
    desk: Desk,
    /// Interfaces at which there is a program, in order.
    live: Vec<usize>,
    /// Place among them of the one that is served first.
    first: usize,
    /// Settings of interfaces that were never changed.
    fresh: Vec<ViSettings>,
    /// Time of the last turn, in nanoseconds.
    now: u64,
    /// Settings that are in force, by their generation.
    seen: u64,
    /// A frame that is looked at, and the same with another tag.
    frame: Vec<u8>,
    changed: Vec<u8>,
}

/// Capabilities of interfaces with programs behind them: none that changes the frames themselves, for a program has no
/// other place for a tag than the frame, and its VLANs are a [`GuestPolicy`]'s.
const CAPABILITIES: Flags = PUBLISHED.difference(Flags::VLAN_HWTAGGING).difference(Flags::VLAN_HWFILTER);

/// An adapter over a port for programs at its interfaces, all of which are down. They get all multicasts, as a program
/// cannot say which it wants, and received frames are neither verified nor merged until somebody asks for that.
///
/// # Errors
/// As [`Nic::new`] has them.
pub fn adapter_for_guests(port: Port) -> Result<Nic, NicError> {
    let config =
        NicConfig { interfaces: MAX_INTERFACES, up: false, capabilities: CAPABILITIES, ..NicConfig::default() };
    let nic = Nic::new(port, &config)?;
    let control = nic.control();
    for vi in 0..MAX_INTERFACES {
        control.set_flag(vi, "-lro")?;
        control.set_flag(vi, "-rxcsum")?;
        control.change(vi, |settings| settings.all_multicast = true)?;
    }
    Ok(nic)
}

impl Guests {
    /// Programs at the interfaces of an adapter: none yet. It receives by all queues of the port and sends by the first, so
    /// that caps and shares are those of the whole link; None if these are not there any more.
    #[must_use]
    pub fn new(nic: &mut Nic) -> Option<Self> {
        let control = nic.control();
        let tx = nic.take_tx(0)?;
        let rx: Vec<_> = (0..nic.info().rx_queues).filter_map(|queue| nic.take_rx(queue)).collect();
        let desk = Desk::new(control.interfaces());
        let (live, frame, changed) = (Vec::new(), Vec::new(), Vec::new());
        let fresh = (0..control.interfaces()).filter_map(|vi| control.settings(vi).ok()).collect();
        (!rx.is_empty()).then_some(Self {
            control,
            tx,
            rx,
            desk,
            live,
            first: 0,
            fresh,
            now: 0,
            seen: 0,
            frame,
            changed,
        })
    }

    /// Reads and changes the adapter's settings.
    #[must_use]
    pub fn control(&self) -> &Control {
        &self.control
    }

    /// Rights of the program at an interface.
    #[must_use]
    pub fn policy(&self, interface: usize) -> GuestPolicy {
        self.desk.places.get(interface).map(|place| place.policy.clone()).unwrap_or_default()
    }

    /// Sets what the program at an interface may do, from the next frame on.
    pub fn set_policy(&mut self, interface: usize, policy: GuestPolicy) {
        if let Some(place) = self.desk.places.get_mut(interface) {
            place.policy = policy;
        }
    }

    /// Names that may be taken at the listener, one for each interface that is up, with its address and MTU.
    #[must_use]
    pub fn grants(&self) -> Vec<(String, Grant)> {
        let settings = (0..MAX_INTERFACES).filter_map(|vi| Some((vi, self.control.settings(vi).ok()?)));
        let up = settings.filter(|(vi, settings)| settings.up && self.exists(*vi));
        up.map(|(vi, settings)| {
            let grant = Grant { mac: Some(settings.mac), mtu: Some(settings.mtu), ..Grant::default() };
            (format!("vi{vi}"), grant)
        })
        .collect()
    }

    /// Lets in the programs that have arrived at the listener; true if there was one.
    pub fn admit(&mut self, listener: &Listener) -> bool {
        let arrived = listener.guests();
        let any = !arrived.is_empty();
        for guest in arrived {
            let interface = guest.name.strip_prefix("vi").and_then(|number| number.parse::<usize>().ok());
            match interface.filter(|vi| self.control.settings(*vi).is_ok_and(|settings| settings.up)) {
                Some(vi) if self.desk.seat(vi, guest) => self.live = self.desk.live(),
                // Deleted meanwhile, or taken: a guest that is dropped sees its link go down.
                _ => {}
            }
        }
        any
    }

    /// Moves frames, both ways; true if there were any. `now`: monotonic, in nanoseconds.
    pub fn poll(&mut self, now: u64) -> bool {
        self.now = now;
        self.settle();
        let mut worked = self.receive(now);
        let n = self.live.len();
        self.first = if n == 0 { 0 } else { (self.first + 1) % n };
        for pass in 0..PASSES {
            let mut moved = false;
            for k in 0..n {
                moved |= self.serve(self.live[(self.first + k) % n], pass == 0);
            }
            worked |= moved;
            // Who was refused because it was another one's turn has its turn before the port is asked to send.
            if !moved || !self.is_pressed() {
                break;
            }
        }
        self.desk.flush();
        self.tx.sync(now);
        worked | self.reap()
    }

    /// Takes over changes of settings: a program whose interface is no more sees its link go down.
    fn settle(&mut self) {
        if self.control.generation() == self.seen {
            return;
        }
        self.seen = self.control.generation();
        for vi in 0..self.desk.places.len() {
            let Ok(settings) = self.control.settings(vi) else { continue };
            let place = &mut self.desk.places[vi];
            place.own = std::iter::once(settings.mac).chain(settings.addresses).collect();
            if let Some(seat) = place.seat.as_ref().filter(|_| !settings.up) {
                seat.guest.part();
            }
        }
    }

    /// Hands out what the port has delivered.
    fn receive(&mut self, now: u64) -> bool {
        let Self { rx, desk, .. } = self;
        let mut worked = false;
        for rx in rx {
            worked |= rx.take(now, usize::MAX, |vi, frame| desk.hand_over(vi, frame)) > 0;
        }
        worked
    }

    /// Removes the programs that have gone, once all that they had sent is taken; true if there was one.
    fn reap(&mut self) -> bool {
        let gone = self.live.iter().copied().filter(|vi| self.desk.is_gone(*vi)).collect::<Vec<_>>();
        gone.iter().for_each(|vi| self.desk.leave(*vi));
        if !gone.is_empty() {
            self.live = self.desk.live();
        }
        !gone.is_empty()
    }

    /// Time at which a program whose interface has a cap may send again, in nanoseconds; None if none waits for that.
    #[must_use]
    pub fn due(&self) -> Option<u64> {
        let seats = self.live.iter().filter_map(|vi| self.desk.places[*vi].seat.as_ref());
        seats.filter(|seat| seat.rests > self.now).map(|seat| seat.rests).min()
    }

    /// True if a frame waits for its turn although the port has room: only time tells whose turn it is.
    #[must_use]
    pub fn is_pressed(&self) -> bool {
        let mut seats = self.live.iter().filter_map(|vi| self.desk.places[*vi].seat.as_ref());
        self.tx.free() > 0 && seats.any(|seat| seat.blocked && seat.rests <= self.now)
    }

    /// Visits all queues to wait for.
    pub fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.rx.iter_mut().for_each(|rx| visit(rx.port()));
        if self.tx.is_due() {
            visit(self.tx.port());
        }
        for vi in &self.live {
            let Some(seat) = self.desk.places[*vi].seat.as_mut() else { continue };
            if !seat.blocked {
                seat.guest.rx.iter_mut().for_each(|rx| visit(rx));
            }
            seat.guest.tx.iter_mut().filter(|tx| tx.ring.pending() > 0).for_each(|tx| visit(tx));
        }
    }

    /// Interfaces at which there is a program.
    pub fn present(&self) -> impl Iterator<Item = usize> + '_ {
        self.live.iter().copied()
    }

    /// The receive half of the first queue, which sees each change of the link.
    #[must_use]
    pub fn first_rx(&self) -> &NicRx {
        &self.rx[0]
    }

    /// State of the port's link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.control.link()
    }

    /// Reports of the interfaces that exist, or have carried frames.
    #[must_use]
    pub fn reports(&self) -> Vec<InterfaceReport> {
        let rows = self.desk.places.iter().enumerate().filter_map(|(vi, place)| {
            let nic = self.control.counters(vi).ok()?;
            let report = InterfaceReport {
                interface: vi,
                exists: place.exists,
                present: place.seat.is_some() || self.desk.own.as_ref().is_some_and(|own| own.interface == vi),
                count: place.count,
                nic,
                fate: place.fate(),
            };
            (place.exists || report.is_busy()).then_some(report)
        });
        rows.collect()
    }

    /// Report of the port.
    #[must_use]
    pub fn uplink(&mut self) -> UplinkReport {
        let mut missed = Drops::default();
        for rx in &mut self.rx {
            let rx = rx.port();
            rx.refresh();
            missed += rx.counters().dropped;
        }
        let sent: TxCounters = self.tx.port_counters();
        let in_ring = self.tx.port().ring.outstanding().into();
        UplinkReport { sent, missed, given_out: self.control.ledger(), in_ring }
    }
}

fn refuse<T>(why: String) -> Result<T, NicError> {
    Err(NicError::Parameter(why))
}

/// A program at an interface.
struct Seat {
    guest: Guest,
    /// Its next frame waits for room at the port, for its turn, or for its cap.
    blocked: bool,
    /// Time at which its cap lets it go on, in nanoseconds; in the past if it does not wait for that. Some frames later than the
    /// next one is due, so that a program with a small cap is not woken for each.
    rests: u64,
    /// Something was put into its rings since the last flush.
    touched: bool,
    /// Rings that were synced in this turn, for want of room.
    synced: bool,
}
