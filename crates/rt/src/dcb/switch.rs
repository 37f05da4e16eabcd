//! Data Center Bridging at the ports of a switch: each neighbour is offered what the switch has.

use super::DcbClient;
use linerate_dcb::{Event, Settings, SettingsError};
use linerate_port::Link;
use linerate_port::switch::{PortNews, Switch};
use linerate_wire::{EtherType, Lldpdu, MacAddr};
use std::collections::BTreeMap;

/// Time between two looks at the links, in ns. A frame that comes says that its port's is up.
const LOOK: u64 = 1_000_000_000;

/// LLDP and DCBX at each port of a switch, under the switch's address and the port's name.
pub struct SwitchDcb {
    mac: MacAddr,
    settings: Settings,
    ports: BTreeMap<u16, Port>,
    /// Time of the next look at the links.
    look: u64,
    /// Time of the next turn even if nothing is new.
    due: u64,
    stopped: bool,
}

/// A port of the switch.
struct Port {
    name: String,
    client: DcbClient,
    seen: (Link, u32),
}

impl Port {
    fn set_link(&mut self, link: Link, now: u64) {
        if self.seen.0 != link {
            self.seen.0 = link;
            self.client.set_link(link, now);
        }
    }

    /// Takes note of the link as it is; one that went and came back meanwhile was down.
    fn look(&mut self, (link, generation): (Link, u32), now: u64) {
        if std::mem::replace(&mut self.seen.1, generation) != generation {
            self.set_link(Link::Down, now);
        }
        self.set_link(link, now);
    }
}

impl SwitchDcb {
    /// Speaks at all ports of a switch of this address, now and later. From then on LLDP is the switch's own.
    ///
    /// # Errors
    /// As [`Settings::check`].
    pub fn new(switch: &mut Switch, mac: MacAddr, settings: Settings) -> Result<Self, SettingsError> {
        settings.check()?;
        switch.keep(EtherType::LLDP, Lldpdu::NEAREST_BRIDGE);
        Ok(Self { mac, settings, ports: BTreeMap::new(), look: 0, due: 0, stopped: false })
    }

    /// Ports with their names, by number.
    pub fn ports(&self) -> impl Iterator<Item = (&str, &DcbClient)> {
        self.ports.values().map(|port| (port.name.as_str(), &port.client))
    }

    /// Processes what has come and what is due, after the switch was polled; true if there was anything.
    pub fn turn(&mut self, switch: &mut Switch, now: u64) -> bool {
        let news = switch.take_news();
        if news.is_empty() && now < self.due {
            return false;
        }
        let came = !news.is_empty();
        for (number, news) in news {
            self.hear(switch, number, news, now);
        }
        if now >= self.look {
            self.look = now + LOOK;
            for (number, port) in &mut self.ports {
                port.look(switch.link_of(*number).unwrap_or(port.seen), now);
            }
        }
        let mut sent = false;
        self.due = self.look;
        for (number, port) in &mut self.ports {
            sent |= port.client.turn(now, |frame| switch.send_by(*number, frame));
            // A frame that found no room is tried again soon.
            let due = if port.client.is_held_up() { now + LOOK / 1000 } else { port.client.due() };
            self.due = self.due.min(due);
        }
        came || sent
    }

    fn hear(&mut self, switch: &Switch, number: u16, news: PortNews, now: u64) {
        match news {
            PortNews::Come(name) if !self.stopped => {
                // The settings were checked.
                let Ok(client) = DcbClient::new(self.mac, &name, self.settings.clone(), now) else { return };
                let mut port = Port { name, client, seen: (Link::Down, 0) };
                port.look(switch.link_of(number).unwrap_or(port.seen), now);
                self.ports.insert(number, port);
            }
            PortNews::Come(_) => {}
            PortNews::Gone => drop(self.ports.remove(&number)),
            PortNews::Frame(frame) => {
                if let Some(port) = self.ports.get_mut(&number) {
                    port.set_link(Link::Up, now);
                    port.client.receive(&frame, now);
                }
            }
        }
    }

    /// Time of the next turn even if nothing has come.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Takes leave of all neighbours with the next turn.
    pub fn stop(&mut self) {
        self.ports.values_mut().for_each(|port| port.client.stop());
        (self.stopped, self.due) = (true, 0);
    }

    /// Next event to be told, and its port's name.
    pub fn poll_event(&mut self) -> Option<(&str, Event)> {
        self.ports.values_mut().find_map(|port| Some((port.name.as_str(), port.client.poll_event()?)))
    }
}
