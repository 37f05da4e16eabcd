//! An IP host as a client of an adapter: it has an interface of it, and shares its queue with others.

use super::node::{NetError, Options};
use crate::line::Arrivals;
use crate::random;
use linerate_nic::{Control, Flags, NicTx, RxFrame};
use linerate_offload::{Frames, GSO_ECN, GSO_UDP_L4, Segments, Verdict, header_len};
use linerate_port::Link;
use linerate_ring::{Frame, Meta};
use linerate_stack::tcp::Tso;
use linerate_stack::{Cidr, Config, Fills, Host, Probe, Stage, Transmit};
use linerate_wire::{MacAddr, VlanTag};

/// Most frames that are processed in a turn.
const MOST: usize = 256;
/// Frames between two looks at how full the sockets' queues are, and those where the last ones were shorter than so many bytes on
/// average.
const LOOK: usize = 16;
const LOOK_SHORT: usize = 64;
const SHORT: usize = 256;

/// The transmit half of an interface.
pub struct IpTx<'a> {
    nic: &'a mut NicTx,
    interface: usize,
}

impl<'a> IpTx<'a> {
    #[inline]
    pub(crate) fn new(nic: &'a mut NicTx, interface: usize) -> Self {
        Self { nic, interface }
    }

    /// Hands on what was sent, and gets sent slots back.
    #[inline]
    pub fn sync(&mut self, now: u64) {
        self.nic.sync(now);
    }
}

impl Transmit for IpTx<'_> {
    #[inline]
    fn send(&mut self, head: &[u8], body: &[&[u8]], request: Option<Meta>) -> bool {
        self.nic.send(self.interface, head, body, request)
    }

    #[inline]
    fn frame(&mut self, len: usize, request: Option<Meta>, fill: impl FnOnce(&mut Frame<'_>)) -> bool {
        self.nic.frame(self.interface, len, request, fill)
    }

    #[inline]
    fn single(&self) -> usize {
        self.nic.single(self.interface)
    }
}

/// An IP host on an interface, or the shard of it that has one of the interface's queues. It follows when the
/// interface's settings are changed.
pub struct Ip {
    pub host: Host,
    interface: usize,
    /// Generation of the settings that the host knows.
    known: u64,
    software: bool,
    /// Bytes of a merged frame, from head to end, or of a datagram out of a super-frame.
    merged: Vec<u8>,
}

impl Ip {
    /// Sets up a host with these addresses on an interface, with the address, MTU and flags that are set there.
    pub fn new(control: &Control, interface: usize, addresses: &[Cidr], options: &Options) -> Result<Self, NetError> {
        control.change(interface, |vi| {
            // Neighbour discovery's groups are among them.
            vi.all_multicast = true;
            vi.mac = options.mac.map_or(vi.mac, |mac| mac.0);
            vi.mtu = options.mtu.unwrap_or(vi.mtu);
            vi.vlans.extend(options.vlan.map(VlanTag::vid));
        })?;
        let settings = control.settings(interface)?;
        let mut config = Config::new(MacAddr(settings.mac), options.seed.unwrap_or_else(random));
        config.mtu = settings.mtu;
        config.vlan = options.vlan;
        config.neighbours = options.neighbours.unwrap_or(config.neighbours);
        let mut host = Host::new(&config)?;
        // Until its first turn tells it.
        host.set_carrier(false);
        addresses.iter().try_for_each(|address| host.add_address(*address))?;
        if options.auto {
            host.set_auto(true)?;
        }
        let software = options.software;
        let mut ip = Self { host, interface, known: 0, software, merged: Vec::new() };
        ip.follow(control);
        Ok(ip)
    }

    /// The shard of another queue.
    pub(crate) fn shard(&self) -> Self {
        let Self { interface, software, .. } = *self;
        Self { host: self.host.shard(), interface, known: 0, software, merged: Vec::new() }
    }

    #[inline]
    pub(crate) fn interface(&self) -> usize {
        self.interface
    }

    /// The host, and its output through a queue.
    #[inline]
    pub fn over<'a>(&'a mut self, nic: &'a mut NicTx) -> (&'a mut Host, IpTx<'a>) {
        (&mut self.host, IpTx::new(nic, self.interface))
    }

    /// Takes over settings that were changed at the adapter. What the host sends by them must not be dropped by an output that
    /// still has those before: whoever has it follows, too ([`NicTx::follow`]).
    pub(crate) fn follow(&mut self, control: &Control) {
        // Settings that changed while they were taken over are taken over once more: another shard may have been first.
        while control.generation() != self.known {
            self.take_over(control);
        }
    }

    #[cold]
    fn take_over(&mut self, control: &Control) {
        self.known = control.generation();
        let Ok(settings) = control.settings(self.interface) else { return };
        let flags = settings.flags.enabled();
        let fills = flags.contains(Flags::TXCSUM) && control.port().caps.checksum && !self.software;
        self.host.set_fills(Fills { v4: fills, v6: fills });
        let tso = |flag| flags.contains(flag) && !self.software;
        let slots = control.port().slots;
        self.host.set_tso(Tso { v4: tso(Flags::TSO4), v6: tso(Flags::TSO6), slots });
        // An IPv6 host's MTU cannot go below what its addresses need; then it stays, and the adapter cuts nothing.
        let _ = self.host.set_mtu(settings.mtu);
        self.host.set_mac(MacAddr(settings.mac));
        self.host.set_up(settings.up);
    }

    /// Applies a new state of the link. What arrived before the link went is taken nevertheless, and an interface that was
    /// taken down stays down when the link comes back.
    pub(crate) fn set_link(&mut self, link: Link, tx: &mut impl Transmit) {
        let up = link == Link::Up;
        // Of several shards one is the first to see it.
        if self.host.set_carrier(up) && up {
            self.host.announce(tx);
        }
    }

    /// Processes frames that have arrived for it, but no more than sockets have room for until their owners come, and does the
    /// work that is due; true if there was any.
    pub(crate) fn work(&mut self, now: u64, arrivals: &mut Arrivals, tx: &mut impl Transmit) -> bool {
        self.follow(arrivals.control());
        let (mut arrived, mut look) = (0, LOOK);
        while arrived < MOST {
            let mut bytes = 0;
            let some = arrivals.rx.receive(self.interface, look, |frame| {
                bytes += frame.head().len();
                self.handle(now, frame, tx);
            });
            arrived += some;
            // Before a socket's queue overflows its owner is to have what is in it.
            if some == 0 || self.host.udp_fills() {
                break;
            }
            look = if bytes < SHORT * some { LOOK_SHORT } else { LOOK };
        }
        self.poll(now, arrivals.control(), tx) || arrived > 0
    }

    /// Processes frames that have arrived for it, with a probe between the stages of those that are plain; returns their
    /// number. What is to be answered goes out with [`Ip::poll`].
    pub(crate) fn receive_probed(
        &mut self,
        now: u64,
        arrivals: &mut Arrivals,
        tx: &mut impl Transmit,
        probe: &mut impl Probe,
    ) -> usize {
        self.follow(arrivals.control());
        arrivals.rx.receive(self.interface, usize::MAX, |frame| {
            if !probe.passed(Stage::Ring, &frame) {
                return probe.done();
            }
            if frame.is_plain() {
                self.host.handle_probed(now, frame.head(), None, tx, probe);
            } else {
                self.handle(now, frame, tx);
            }
            probe.done();
        })
    }

    /// Processes a frame that has arrived for it.
    #[inline]
    pub(crate) fn handle(&mut self, now: u64, frame: RxFrame<'_>, tx: &mut impl Transmit) {
        // Small enough to become part of the adapter's loop.
        if frame.is_plain() {
            self.host.handle(now, frame.head(), None, tx);
        } else {
            handle_changed(&mut self.host, now, frame, self.software, &mut self.merged, tx);
        }
    }

    /// Does the work that is due, with the settings that are in force; true if there was any.
    pub(crate) fn poll(&mut self, now: u64, control: &Control, tx: &mut impl Transmit) -> bool {
        self.follow(control);
        let due = self.host.poll_timeout().is_some_and(|at| at <= now);
        if due || self.host.wants_room() {
            self.host.poll(now, tx);
        }
        due
    }

    /// Time of the next call of [`Ip::work`] even if nothing arrives.
    pub(crate) fn poll_timeout(&self) -> Option<u64> {
        self.host.poll_timeout()
    }
}

/// Processes a frame that the adapter has changed or has metadata of.
#[inline(never)]
fn handle_changed(
    host: &mut Host,
    now: u64,
    mut frame: RxFrame<'_>,
    software: bool,
    merged: &mut Vec<u8>,
    tx: &mut impl Transmit,
) {
    let request = frame.meta().request;
    let meta = seen(&frame, software);
    if request.gso_type & !GSO_ECN == GSO_UDP_L4 {
        handle_train(host, now, (frame.head(), &request), meta, merged, tx);
    } else if frame.is_merged() {
        merged.clear();
        merged.extend_from_slice(frame.head());
        frame.pieces(|piece| merged.extend_from_slice(piece));
        host.handle(now, merged, meta, tx);
    } else {
        host.handle(now, frame.head(), meta, tx);
    }
}

/// Most datagrams of a super-frame: Linux sends no more (UDP_MAX_SEGMENTS), and more of a byte each would be a cheap way to
/// keep a host busy.
const TRAIN: usize = 128;

/// Processes the datagrams of a super-frame of UDP (Linux's UDP_SEGMENT), each by itself: to merge datagrams is to change
/// what was sent, other than with TCP's bytes.
fn handle_train(
    host: &mut Host,
    now: u64,
    (frame, request): (&[u8], &Meta),
    meta: Option<Meta>,
    datagram: &mut Vec<u8>,
    tx: &mut impl Transmit,
) {
    let headers = header_len(frame).unwrap_or(frame.len());
    let (head, body) = frame.split_at(headers);
    let payload = [body];
    let Ok(mut segments) = Segments::from_meta(head, &payload, request) else { return host.malformed() };
    if segments.remaining() > TRAIN {
        return host.malformed();
    }
    while let Some(len) = segments.next_len() {
        datagram.resize(len, 0);
        segments.write_next(&mut datagram[..]);
        host.handle(now, datagram, meta, tx);
    }
}

/// Results of the adapter's offloads, in the form that ports give. In software, a checksum that is there is verified by
/// the host.
#[inline]
fn seen(frame: &RxFrame<'_>, software: bool) -> Option<Meta> {
    let meta = frame.meta();
    let valid = if meta.checksum == Verdict::Good { Meta::DATA_VALID } else { 0 };
    let not = if software { Meta::DATA_VALID } else { 0 };
    let flags = (meta.request.flags | valid) & !not;
    Some(Meta { flags, vlan_tci: meta.vlan.unwrap_or(0), ..Meta::default() })
}
