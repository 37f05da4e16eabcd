//! Input: each layer strips its header, and returns the work that is left.

use super::Host;
use crate::Transmit;
use crate::counters::Discard;
use crate::ip::{Origin, Packet, Report, Taken, Wrong};
use crate::stage::{Probe, Stage};
use linerate_ring::Meta;
use linerate_wire::{EtherType, IpProtocol};

impl Host {
    /// Processes a frame with the adapter's metadata. Answers are sent at once; those that find no room are counted as
    /// discarded.
    #[inline]
    pub fn handle<T: Transmit>(&mut self, now: u64, frame: &[u8], meta: Option<Meta>, tx: &mut T) {
        self.handle_probed(now, frame, meta, tx, &mut ());
    }

    /// Like [`Host::handle`], with a probe between the stages of a plain segment of TCP.
    pub fn handle_probed<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        frame: &[u8],
        meta: Option<Meta>,
        tx: &mut T,
        probe: &mut P,
    ) {
        self.ip.follow();
        self.ip.link.counters.frames += 1;
        if let Err(why) = self.take(now, frame, meta, tx, probe) {
            self.ip.link.counters.discard(why);
        }
    }

    /// Counts a frame whose metadata contradicts it, so that nobody can tell what it is to be.
    pub fn malformed(&mut self) {
        self.ip.link.counters.frames += 1;
        self.ip.link.counters.discard(Discard::Malformed);
    }

    /// Does the work that is due: requests to neighbours, errors for those that did not answer and for fragments that
    /// never came; and processes packets from the host to itself.
    pub fn poll<T: Transmit>(&mut self, now: u64, tx: &mut T) {
        self.poll_probed(now, tx, &mut ());
    }

    /// Like [`Host::poll`], with a probe between the stages of segments that go out.
    #[inline]
    pub(super) fn poll_probed<T: Transmit, P: Probe>(&mut self, now: u64, tx: &mut T, probe: &mut P) {
        self.ip.follow();
        // Packets queued meanwhile are left for the next call.
        for _ in 0..self.ip.looped.len() {
            let Some(packet) = self.ip.looped.pop() else { break };
            self.ip.link.counters.looped += 1;
            if let Err(why) = self.take_ip(now, &packet, Origin::ourselves(), tx) {
                self.ip.link.counters.discard(why);
            }
        }
        self.ip.poll(now, tx);
        self.hear();
        self.tcp.poll(&mut self.ip, now, tx, probe);
    }

    /// Reports to sockets that their packets could not be delivered to their neighbour.
    fn hear(&mut self) {
        while let Some(report) = self.ip.undelivered() {
            // No socket is left to be told.
            let _ = self.report(&report);
        }
    }

    /// Reports an error to the socket or the connection that it is about; it is an error if there is none.
    fn report(&mut self, report: &Report) -> Result<(), Discard> {
        self.udp.report(report).or_else(|_| self.tcp.report(report))
    }

    fn take<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        frame: &[u8],
        meta: Option<Meta>,
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), Discard> {
        let arrived = self.ip.link.open(frame, meta)?;
        if !probe.passed(Stage::Ethernet, &arrived) {
            return Ok(());
        }
        match arrived.ethertype {
            EtherType::IPV4 => self.take_v4(now, arrived.payload, Origin::link(&arrived), tx, probe),
            EtherType::IPV6 => self.take_v6(now, arrived.payload, Origin::link(&arrived), tx, probe),
            EtherType::ARP => self.ip.take_arp(now, arrived.payload, tx),
            _ => Err(Discard::NotForUs),
        }
    }

    fn take_v4<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        whole: &[u8],
        origin: Origin,
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), Discard> {
        let packet = self.ip.open_v4(whole, origin)?;
        if self.ip.is_plain_v4(&packet, origin, IpProtocol::UDP) {
            let pseudo = || packet.pseudo_header(IpProtocol::UDP);
            let (pseudo, counters) = ((!origin.verified).then_some(pseudo), &mut self.ip.link.counters);
            if let Some(taken) = self.udp.deliver(packet.from, packet.to, packet.payload(), pseudo, counters) {
                return taken;
            }
        }
        if self.ip.is_plain_v4(&packet, origin, IpProtocol::TCP) {
            let packet = packet.plain(origin);
            if !probe.passed(Stage::Ip, &packet) {
                return Ok(());
            }
            return self.tcp.take(&mut self.ip, now, &packet, tx, probe);
        }
        let taken = self.ip.take_v4(now, &packet, origin, tx);
        self.go_on(now, taken, origin, tx)
    }

    fn take_v6<T: Transmit, P: Probe>(
        &mut self,
        now: u64,
        whole: &[u8],
        origin: Origin,
        tx: &mut T,
        probe: &mut P,
    ) -> Result<(), Discard> {
        let packet = match self.ip.open_v6(whole, origin) {
            Ok(packet) => packet,
            Err(why) => {
                if why == Discard::BadAddress {
                    self.ip.suspect(now, whole, origin, tx);
                }
                return Err(why);
            }
        };
        if self.ip.is_plain_v6(&packet, origin, IpProtocol::UDP) {
            let pseudo = || packet.pseudo_header(IpProtocol::UDP);
            let (pseudo, counters) = ((!origin.verified).then_some(pseudo), &mut self.ip.link.counters);
            if let Some(taken) = self.udp.deliver(packet.from, packet.to, packet.payload(), pseudo, counters) {
                return taken;
            }
        }
        if self.ip.is_plain_v6(&packet, origin, IpProtocol::TCP) {
            let packet = packet.plain(origin);
            if !probe.passed(Stage::Ip, &packet) {
                return Ok(());
            }
            return self.tcp.take(&mut self.ip, now, &packet, tx, probe);
        }
        let taken = self.ip.take_v6(now, &packet, origin, tx);
        self.go_on(now, taken, origin, tx)
    }

    /// Processes a packet of either version that came from the host itself or was reassembled.
    fn take_ip<T: Transmit>(&mut self, now: u64, whole: &[u8], origin: Origin, tx: &mut T) -> Result<(), Discard> {
        match whole.first().map(|b| b >> 4) {
            Some(4) => self.take_v4(now, whole, origin, tx, &mut ()),
            _ => self.take_v6(now, whole, origin, tx, &mut ()),
        }
    }

    /// Does the work that IP left, and reports errors about its answers to the sockets.
    fn go_on<T: Transmit>(
        &mut self,
        now: u64,
        taken: Result<Taken<'_>, Discard>,
        origin: Origin,
        tx: &mut T,
    ) -> Result<(), Discard> {
        let done = match taken {
            Ok(Taken::Up(packet)) => self.take_payload(now, packet, tx),
            Ok(Taken::Whole(whole)) => self.take_ip(now, &whole, origin.joined(), tx),
            Ok(Taken::Error(report)) => self.report(&report).map(|()| self.ip.heed(now, &report)),
            Ok(Taken::Done) => Ok(()),
            Err(why) => Err(why),
        };
        self.hear();
        done
    }

    /// Passes a payload to the protocol above IP; sends an ICMP error if there is no receiver.
    fn take_payload<T: Transmit>(&mut self, now: u64, packet: Packet<'_>, tx: &mut T) -> Result<(), Discard> {
        let (wrong, why) = match packet.protocol {
            IpProtocol::UDP => match self.udp.take(&packet, &mut self.ip.link.counters) {
                Err(Discard::NoSocket) => (Wrong::NoPort, Discard::NoSocket),
                taken => return taken,
            },
            IpProtocol::TCP => return self.tcp.take(&mut self.ip, now, &packet, tx, &mut ()),
            _ => (Wrong::NoProtocol, Discard::NotForUs),
        };
        self.ip.send_error(now, packet, wrong, tx);
        Err(why)
    }
}
