//! `vale:SW:PORT`: a port of switch SW.

use super::grant::Wish;
use super::hello::Hello;
use super::member::Policy;
use super::vlan::Vlans;
use super::within;
use crate::cable::{self, Shape};
use crate::error::OpenError;
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::Parts;
use linerate_ring::HEADROOM;

pub(crate) const KIND: Kind = Kind {
    name: "vale",
    about: "a port of a learning switch, in this process or in `linerate switch SW`",
    example: "vale:SW:PORT",
    needs_name: true,
    is_path: false,
    queue_suffix: false,
    options: &[
        OptionRow {
            key: "queues",
            value: "N",
            about: "queues each way, 1 to 16, by priority as 802.1Q recommends (1)",
        },
        OptionRow {
            key: "pause",
            value: "MASK",
            about: "priorities, one bit each, whose frames wait at their sender for room here instead of being dropped (what the switch grants)",
        },
        OptionRow {
            key: "vlan",
            value: "LIST",
            about: "all, or VLANs joined by +: 10 is the untagged one, t20 and t30-39 have tags (what the switch grants)",
        },
    ],
    demand,
    open,
};

/// Most bytes of buffers of one port at a switch.
const MOST_MEMORY: u64 = 1 << 30;

/// Names of a switch and of a port of it.
pub(super) struct Address<'a> {
    pub(super) switch: &'a str,
    pub(super) port: &'a str,
}

/// True if the name of a switch or port is valid.
pub(super) fn is_name(name: &str) -> bool {
    (1..=48).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-+".contains(c))
}

impl<'a> Address<'a> {
    pub(super) fn parse(spec: &'a Spec) -> Result<Self, OpenError> {
        let oops = |what| spec.oops(what, "write vale:SW:PORT, names being up to 48 letters, digits and ._-+");
        let (switch, port) = spec.name.split_once(':').ok_or_else(|| oops("that names no port of a switch"))?;
        if !is_name(switch) || !is_name(port) {
            return Err(oops("that is no name for a switch and its port"));
        }
        Ok(Self { switch, port })
    }
}

/// VLANs and pause that a port asks for.
fn wish(spec: &Spec) -> Result<Wish, OpenError> {
    let pause = spec.option("pause").map(|text| Policy::parse_pause(text).ok_or(()));
    let pause = pause.transpose();
    let pause = pause.map_err(|()| spec.oops("pause= is no mask of 8 priorities", "give 0 to 255, or 0x00 to 0xff"))?;
    let vlans = spec.option("vlan").map(|text| Vlans::parse(text).ok_or(())).transpose();
    let mend = "give all, or numbers from 1 to 4094 as 10+t20+t30-39";
    Ok(Wish { vlans: vlans.map_err(|()| spec.oops("vlan= is no list of VLANs", mend))?, pause })
}

pub(super) fn shape(spec: &Spec) -> Result<Shape, OpenError> {
    let queues = spec.number("queues", 1, 1, 16)?;
    let (slots, mtu, buf_size) = (spec.slots()?, spec.mtu()?, spec.buf_size()?);
    let shape = Shape { queues, slots, mtu, buf_size, rate: None };
    if !fits(&shape) {
        let what = "its buffers have more than a gigabyte";
        return Err(spec.oops(what, "give fewer queues (queues=), fewer slots (slots=) or smaller buffers (buf=)"));
    }
    Ok(shape)
}

/// True if a switch allows the memory for such a port.
pub(super) fn fits(shape: &Shape) -> bool {
    2 * u64::from(shape.queues) * u64::from(shape.slots) * u64::from(shape.buf_size) <= MOST_MEMORY
}

/// True if another port of the same switch is opened in the same call: then they meet within this process.
pub(crate) fn meets_within(spec: &Spec, specs: &[Spec]) -> bool {
    let switch = |spec: &Spec| Address::parse(spec).map(|address| address.switch.to_owned()).ok();
    let mine = switch(spec);
    mine.is_some() && specs.iter().filter(|s| s.kind.name == KIND.name && switch(s) == mine).count() > 1
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    Address::parse(spec)?;
    wish(spec)?;
    let shape = shape(spec)?;
    // Within this process: one ring to send, and a pair to receive through.
    let mut demand = Demand::rings(shape.queues, 2 * shape.queues, shape.slots, shape.buf_size);
    demand.buffers = 2 * shape.queues * shape.slots;
    Ok(demand)
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let (address, wish, shape) = (Address::parse(spec)?, wish(spec)?, shape(spec)?);
    if meets_within(spec, context.specs) {
        return within::open(spec, context, &address, wish.of_itself(), &shape);
    }
    let vlans = spec.option("vlan").unwrap_or_default().to_owned();
    let hello = Hello { shape, pause: wish.pause, port: address.port.to_owned(), vlans };
    let path = format!("port of switch {} in another process, over memory between the two", address.switch);
    cable::join(spec, &socket_name(address.switch), hello.write(), &shape, path)
}

impl Shape {
    /// The shape with the largest payload that is granted, in buffers that hold it as those asked for hold theirs.
    pub(super) fn granted(self, mtu: Option<usize>) -> Self {
        let Some(mtu) = mtu.filter(|mtu| *mtu != self.mtu) else { return self };
        let frame = HEADROOM + mtu + 22;
        let needed = u32::try_from(frame.next_power_of_two()).unwrap_or(65536).min(65536);
        let buf_size = if mtu > self.mtu { self.buf_size.max(needed) } else { self.buf_size };
        Self { mtu, buf_size, ..self }
    }
}

/// File name of a switch's socket, without its ending.
pub(super) fn socket_name(switch: &str) -> String {
    format!("switch-{switch}")
}
