//! A port: LLDP's agent, and DCBX on top.

use crate::cee::{self, Control};
use crate::congestion::Notification;
use crate::counters::{Counters, Drop};
use crate::event::{Event, Gone};
use crate::ieee;
use crate::neighbours::{Identifier, MAX_NEIGHBOURS, Neighbour};
use crate::settings::{Dcbx, Settings, SettingsError};
use crate::steady::Steady;
use crate::table::{Off, Table, Version};
use crate::transmit::{SECOND, TTL, Transmitter};
use linerate_wire::{EtherType, EthernetFrame, LldpTlv, Lldpdu, MacAddr, lldp_id};
use std::collections::VecDeque;

/// Most events that wait to be fetched.
const MAX_EVENTS: usize = 64;
/// Longest name of a port, in bytes.
const MAX_NAME: usize = 255;

/// Identity of a port: its chassis is its MAC address.
#[derive(Debug, Clone)]
pub struct Config {
    mac: MacAddr,
    chassis: Identifier,
    port: Identifier,
}

impl Config {
    /// A port of this MAC address, under a name, of which the first 255 bytes are told; without one, under its address.
    #[must_use]
    pub fn new(mac: MacAddr, name: &str) -> Self {
        let port = match name.as_bytes() {
            [] => Identifier::port(lldp_id::PORT_MAC, &mac.0),
            name => Identifier::port(lldp_id::PORT_LOCAL, &name[..name.len().min(MAX_NAME)]),
        };
        Self { mac, chassis: Identifier::chassis(lldp_id::CHASSIS_MAC, &mac.0), port }
    }
}

/// LLDP and DCBX on one port. Times are in ns, of one clock.
#[derive(Debug)]
pub struct Dcb {
    config: Config,
    settings: Settings,
    up: bool,
    neighbours: Vec<Neighbour>,
    transmitter: Transmitter,
    control: Control,
    /// Unit that is sent.
    unit: Vec<u8>,
    /// The end is to be told.
    leaving: bool,
    wanted: Steady<Table>,
    operative: Table,
    /// There was no place for a neighbour since one was gone.
    crowded: bool,
    events: VecDeque<Event>,
    counters: Counters,
}

impl Dcb {
    /// A port whose link is down.
    ///
    /// # Errors
    ///
    /// As [`Settings::check`].
    pub fn new(config: Config, settings: Settings, now: u64) -> Result<Self, SettingsError> {
        settings.check()?;
        let operative = Table::local(&settings, Off::NoPeer);
        Ok(Self {
            config,
            settings,
            up: false,
            neighbours: Vec::new(),
            transmitter: Transmitter::new(now),
            control: Control::default(),
            unit: Vec::new(),
            leaving: false,
            wanted: Steady::new(operative.clone()),
            operative,
            crowded: false,
            events: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    /// Changes the local settings. What is negotiated with them takes effect at once.
    ///
    /// # Errors
    ///
    /// As [`Settings::check`]; the settings are as before then.
    pub fn set(&mut self, settings: Settings, now: u64) -> Result<(), SettingsError> {
        settings.check()?;
        self.settings = settings;
        self.wanted.set(self.negotiate());
        self.settle(now);
        Ok(())
    }

    /// The link has come up, or gone down: neighbours go with it.
    pub fn set_link(&mut self, up: bool, now: u64) {
        if up == self.up {
            return;
        }
        self.up = up;
        if up {
            self.transmitter = Transmitter::new(now);
        } else {
            let gone = std::mem::take(&mut self.neighbours);
            gone.iter().for_each(|neighbour| self.tell(Event::Gone(neighbour.to_string(), Gone::LinkDown)));
            self.crowded = false;
        }
        self.settle(now);
    }

    /// Takes leave: the next frame, if there was one before, is the last, and tells the neighbours so.
    pub fn stop(&mut self) {
        self.leaving = self.up && self.counters.sent > 0;
        self.up = false;
    }

    /// Takes a frame that has arrived.
    pub fn receive(&mut self, frame: &[u8], now: u64) {
        if !self.up {
            return;
        }
        self.advance(now);
        self.counters.received += 1;
        match self.take(frame, now) {
            Ok(()) => self.settle(now),
            Err(reason) => self.counters.dropped.add(reason, 1),
        }
    }

    /// Next frame to be sent, if it is time.
    pub fn poll_transmit(&mut self, now: u64) -> Option<Vec<u8>> {
        let due = if self.leaving {
            self.leaving = false;
            self.unit = self.build(0, &[]);
            true
        } else {
            self.advance(now);
            self.up && self.transmitter.take()
        };
        due.then(|| {
            self.counters.sent += 1;
            Lldpdu::frame(self.config.mac, &self.unit)
        })
    }

    /// Time of the next call of [`poll_transmit`](Self::poll_transmit) even if nothing arrives.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        if self.leaving {
            return Some(0);
        }
        let held = (*self.wanted.wanted() != self.operative).then(|| self.wanted.until());
        let ages = self.neighbours.iter().map(|neighbour| neighbour.expires);
        self.up.then(|| ages.chain(held).fold(self.transmitter.timeout(), u64::min))
    }

    /// Next event to be told.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Operative settings.
    #[must_use]
    pub fn operative(&self) -> &Table {
        &self.operative
    }

    /// Local settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// All neighbours, at most [`MAX_NEIGHBOURS`].
    #[must_use]
    pub fn neighbours(&self) -> &[Neighbour] {
        &self.neighbours
    }

    /// Counters of the port.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Lets time pass: timers, and neighbours whose time is over.
    fn advance(&mut self, now: u64) {
        if !self.up {
            return;
        }
        self.transmitter.advance(now);
        while let Some(at) = self.neighbours.iter().position(|neighbour| neighbour.expires <= now) {
            self.counters.aged_out += 1;
            self.remove(at, Gone::AgedOut);
        }
        self.settle(now);
    }

    /// Processes a frame (IEEE 802.1AB-2016, clause 9.2.7.7).
    fn take(&mut self, frame: &[u8], now: u64) -> Result<(), Drop> {
        let frame = EthernetFrame::new_checked(frame).map_err(|_| Drop::NotForUs)?;
        if frame.ethertype() != EtherType::LLDP || frame.dst() != Lldpdu::NEAREST_BRIDGE {
            return Err(Drop::NotForUs);
        }
        let mac = frame.src();
        if mac == self.config.mac {
            return Err(Drop::Own);
        }
        let unit = Lldpdu::parse(frame.payload()).map_err(|_| Drop::Malformed)?;
        if (unit.chassis, unit.port) == (self.config.chassis.wire(), self.config.port.wire()) {
            return Err(Drop::Own);
        }
        let same =
            |neighbour: &Neighbour| (neighbour.chassis.wire(), neighbour.port.wire()) == (unit.chassis, unit.port);
        let at = match (self.neighbours.iter().position(same), unit.ttl) {
            (Some(at), 0) => {
                self.remove(at, Gone::Left);
                return Ok(());
            }
            (Some(at), _) => at,
            (None, 0) => return Err(Drop::UnknownShutdown),
            (None, _) if self.neighbours.len() >= MAX_NEIGHBOURS => {
                if !std::mem::replace(&mut self.crowded, true) {
                    self.tell(Event::TooManyNeighbours);
                }
                return Err(Drop::TooManyNeighbours);
            }
            (None, _) => {
                let neighbour = Neighbour::new(unit.chassis, unit.port, mac);
                self.tell(Event::Appeared(neighbour.to_string()));
                self.neighbours.push(neighbour);
                self.transmitter.neighbour();
                self.neighbours.len() - 1
            }
        };
        let neighbour = &mut self.neighbours[at];
        let mut refusals = Vec::new();
        let (heard, described) = neighbour.heard.read(&unit, &mut self.counters, |what, reason| {
            let bit = 1 << (reason as usize);
            if neighbour.refused & bit == 0 {
                neighbour.refused |= bit;
                refusals.push((what, reason));
            }
        });
        (neighbour.heard, neighbour.mac, neighbour.ttl) = (heard, mac, unit.ttl);
        (neighbour.system, neighbour.description) = (described.system, described.port);
        neighbour.expires = now + u64::from(unit.ttl) * SECOND;
        let who = neighbour.to_string();
        for (what, reason) in refusals {
            self.tell(Event::Refused(who.clone(), what, reason));
        }
        Ok(())
    }

    fn remove(&mut self, at: usize, why: Gone) {
        let neighbour = self.neighbours.remove(at);
        self.crowded = false;
        self.tell(Event::Gone(neighbour.to_string(), why));
    }

    /// The one neighbour that speaks DCBX, or why there is none to speak with.
    fn peer(&self) -> Result<&Neighbour, Off> {
        let mut peers = self.neighbours.iter().filter(|neighbour| neighbour.heard.is_dcbx());
        match (peers.next(), peers.count()) {
            (None, _) => Err(Off::NoPeer),
            (Some(peer), 0) => Ok(peer),
            (Some(_), others) => Err(Off::Peers(1 + others)),
        }
    }

    /// Result of both ends' settings.
    fn negotiate(&self) -> Table {
        let mut points = self.neighbours.iter().filter_map(|neighbour| neighbour.heard.congestion);
        let peer = points.next().filter(|_| points.next().is_none());
        Table { congestion: Notification::new(self.settings.congestion, peer), ..self.exchange() }
    }

    /// Result of DCBX.
    fn exchange(&self) -> Table {
        let peer = match self.peer() {
            Ok(peer) => peer,
            Err(off) => return Table::local(&self.settings, off),
        };
        match (self.settings.dcbx, &peer.heard.ieee, &peer.heard.cee) {
            (Dcbx::Auto | Dcbx::Ieee, Some(ieee), _) => {
                ieee::negotiate(&self.settings, self.config.mac, ieee, peer.mac)
            }
            (Dcbx::Auto | Dcbx::Cee, _, Some(cee)) => cee::negotiate(&self.settings, cee),
            _ => Table::local(&self.settings, Off::NoPeer),
        }
    }

    /// Lets what is wanted be operative, unless it changes too often, and tells the neighbours what has changed.
    fn settle(&mut self, now: u64) {
        let too_many = self.wanted.want(self.negotiate(), now);
        if too_many > 0 {
            self.counters.changes_held += 1;
        }
        if too_many == 1 {
            self.tell(Event::Held);
        }
        if let Some(wanted) = self.wanted.settled(now)
            && *wanted != self.operative
        {
            self.operative = wanted.clone();
            self.counters.changes += 1;
            self.tell(Event::Operative(Box::new(self.operative.clone())));
        }
        let version = match self.settings.dcbx {
            Dcbx::Ieee => Version::Ieee,
            Dcbx::Cee => Version::Cee,
            Dcbx::Auto => self.operative.version.unwrap_or(Version::Ieee),
        };
        let mut tlvs = match version {
            Version::Ieee => ieee::tlvs(&self.settings, &self.operative),
            Version::Cee => {
                let peer = self.peer().ok().and_then(|peer| peer.heard.cee.clone());
                self.control.hear(peer.as_ref());
                vec![self.control.tlv(&self.settings, &self.operative, peer.as_ref())]
            }
        };
        tlvs.extend(self.operative.congestion.tlv());
        let unit = self.build(TTL, &tlvs);
        if unit != self.unit {
            self.unit = unit;
            self.transmitter.change();
        }
    }

    fn build(&self, ttl: u16, tlvs: &[LldpTlv<'_>]) -> Vec<u8> {
        let unit = Lldpdu::build(self.config.chassis.wire(), self.config.port.wire(), ttl, tlvs);
        unit.expect("identifiers are of a length that is allowed, and settings are checked")
    }

    fn tell(&mut self, event: Event) {
        if self.events.len() < MAX_EVENTS {
            self.events.push_back(event);
        } else {
            self.counters.events_lost += 1;
        }
    }
}
