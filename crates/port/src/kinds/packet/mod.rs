//! `packet:IF`: an interface of the system by packet sockets. Works on every interface and with every driver; the
//! kernel copies each frame once in each direction.
//!
//! Reception is by recvmmsg straight into the slots (`rx=recv`), or by TPACKET_V3's ring of blocks (`rx=ring`). The ring takes
//! a third more 64-byte frames a second from one core, and a tenth of the processor time where they come slowly, because its
//! reader is woken once a millisecond; so a frame comes up to 1 ms late, and a super-frame is copied once more. Transmission uses sendmmsg past the queueing discipline, which gathers frames in place and was never
//! slower than a mapped transmit ring (TPACKET_V2 or V3) with its extra copy.
//!
//! A frame whose slot asks for a checksum or segments is sent with a virtio header and through the queueing discipline,
//! which is where the kernel segments in software. Received frames all come with a virtio header: an open checksum
//! (CHECKSUM_PARTIAL, the rule on veth pairs) or a super-frame is passed on as it is, with the request in its slot's
//! metadata. It is not completed here: a reader of the payload does not need it, and a forwarder can pass the request
//! on.

mod recv;
mod ring;
mod tx;

use crate::chain::most_slots;
use crate::error::{Cause, OpenError};
use crate::frames::SUPER;
use crate::info::{Caps, Filter, Info, Link};
use crate::interface::{self, Carrier, find, raw_counters};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::memberships::Memberships;
use crate::port::{Device, Parts};
use crate::queue::{RxEngine, RxQueue, TxQueue};
use crate::sys::block_ring::{BLOCK, BlockRing};
use crate::sys::packet::{self, Fanout, Receiver};
use crate::vnet::segments_udp;
use linerate_host::shell::word;
use linerate_host::{Control, Ethtool, LinkState, Rtnetlink};
use linerate_ring::{RxRing, TxRing};
use recv::RecvRx;
use ring::RingRx;
use std::io;
use std::sync::{Arc, Mutex};
use tx::PacketTx;

pub(crate) const KIND: Kind = Kind {
    name: "packet",
    about: "an interface of the system, by packet sockets (any driver; needs CAP_NET_RAW)",
    example: "packet:eth0",
    needs_name: true,
    is_path: false,
    queue_suffix: false,
    options: &[
        OptionRow { key: "queues", value: "N", about: "queues each way, 1 to 64 (1)" },
        OptionRow {
            key: "rx",
            value: "recv|ring",
            about: "receive at once, or by the millisecond for less processor time (recv)",
        },
        OptionRow { key: "fanout", value: "hash|cpu|lb", about: "how frames are spread over the queues (hash)" },
    ],
    demand,
    open,
};

/// Bytes that may precede the payload: Ethernet header and one tag.
const ETHERNET_AND_TAG: usize = 14 + 4;

fn queues(spec: &Spec) -> Result<u32, OpenError> {
    spec.number("queues", 1, 1, 64)
}

/// Ways to receive frames.
enum Reception {
    Recv,
    Ring,
}

fn reception(spec: &Spec) -> Result<Reception, OpenError> {
    match spec.option("rx") {
        None | Some("recv") => Ok(Reception::Recv),
        Some("ring") => Ok(Reception::Ring),
        Some(_) => Err(spec.oops("there is no such way to receive", "give rx=recv or rx=ring")),
    }
}

fn fanout(spec: &Spec) -> Result<Fanout, OpenError> {
    match spec.option("fanout") {
        None | Some("hash") => Ok(Fanout::Hash),
        Some("cpu") => Ok(Fanout::Cpu),
        Some("lb") => Ok(Fanout::RoundRobin),
        Some(_) => Err(spec.oops("there is no such fanout", "give fanout=hash, fanout=cpu or fanout=lb")),
    }
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    fanout(spec)?;
    reception(spec)?;
    let queues = queues(spec)?;
    Ok(Demand::rings(queues, queues, spec.slots()?, spec.buf_size()?))
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let (queues, slots, fanout, reception) = (queues(spec)?, spec.slots()?, fanout(spec)?, reception(spec)?);
    let oops = |e: io::Error| trouble(spec, &e);
    let mut links = Rtnetlink::open().map_err(|e| OpenError::below(spec, e))?;
    let link = find(spec, &mut links)?;
    if !link.up {
        let mend = format!("switch it on: ip link set dev {} up", word(&link.name));
        return Err(OpenError::new(spec, Cause::Missing, "the interface is switched off", mend));
    }
    let mtu = mtu(spec, &link)?;
    let memory = |e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let carrier = Arc::new(Carrier::new(Control::open(link.index).map_err(oops)?));
    let mut notes = Vec::new();
    let engines: Vec<Box<dyn RxEngine + Send>> = match reception {
        Reception::Recv => {
            let sockets = (0..queues).map(|_| Receiver::new(slots)).collect::<io::Result<Vec<_>>>().map_err(oops)?;
            if !sockets.iter().try_fold(true, |all, socket| Ok(all && socket.has_room()?)).map_err(oops)? {
                let few =
                    "few frames can wait to be received: raise net.core.rmem_max (sysctl), or run with CAP_NET_ADMIN";
                notes.push(few.to_owned());
            }
            packet::receive_from(&sockets, link.index, fanout).map_err(oops)?;
            let longest = most_slots(SUPER, context.region.usable()).min(slots - 1);
            sockets.into_iter().map(|socket| Box::new(RecvRx::new(socket, &carrier, longest)) as _).collect()
        }
        Reception::Ring => {
            let blocks = (u64::from(slots) * u64::from(spec.buf_size()?) / u64::from(BLOCK)).clamp(16, 512);
            let blocks = u32::try_from(blocks).unwrap_or(16);
            let rings = (0..queues).map(|_| BlockRing::new(blocks)).collect::<io::Result<Vec<_>>>().map_err(oops)?;
            packet::receive_from(&rings, link.index, fanout).map_err(oops)?;
            rings.into_iter().map(|ring| Box::new(RingRx::new(ring, &carrier)) as _).collect()
        }
    };
    let (mut tx, mut rx) = (Vec::new(), Vec::new());
    for (id, engine) in (0..).zip(engines) {
        let plain = packet::sender(link.index).map_err(oops)?;
        let asking = packet::asking_sender(link.index).map_err(oops)?;
        let ring = TxRing::new(context.region, id, slots).map_err(memory)?;
        tx.push(TxQueue::new(ring, Box::new(PacketTx::new(plain, asking, &carrier, mtu + ETHERNET_AND_TAG))));
        let ring = RxRing::new(context.region, id, slots).map_err(memory)?;
        rx.push(RxQueue::new(ring, engine));
    }
    if Ethtool::open().and_then(|mut ethtool| ethtool.offloads(&link.name)).is_ok_and(|offloads| offloads.gro) {
        notes.push(format!("the kernel joins received frames: ethtool -K {} gro off keeps them apart", link.name));
    }
    let spread = if queues > 1 { format!(", {queues} queues by fanout") } else { String::new() };
    let received = match reception {
        Reception::Recv => "recvmmsg",
        Reception::Ring => "TPACKET_V3 ring",
    };
    let info = Info {
        name: spec.to_string(),
        path: format!("AF_PACKET: {received} in, sendmmsg past the qdisc out{spread}"),
        mtu,
        largest: mtu + ETHERNET_AND_TAG,
        mac: link.mac,
        caps: Caps {
            checksum: true,
            gso: true,
            uso: segments_udp(),
            scatter: true,
            metadata: true,
            filters: true,
            ..Caps::default()
        },
        tx_queues: tx.len(),
        rx_queues: rx.len(),
        slots,
        rate: None,
        notes,
    };
    let device = Packet { carrier, memberships: Memberships::default(), name: link.name, links: Mutex::new(links) };
    Ok(Parts { info, tx, rx, device: Box::new(device) })
}

/// Largest payload: the interface's, or less if the port asks for less.
fn mtu(spec: &Spec, link: &LinkState) -> Result<usize, OpenError> {
    let interface = link.mtu as usize;
    if spec.option("mtu").is_none() {
        return Ok(interface);
    }
    let wanted = spec.mtu()?;
    if wanted > interface {
        let what = format!("mtu={wanted} is more than the interface's {interface}");
        let mend =
            format!("give mtu={interface}, or set the interface's: ip link set dev {} mtu {wanted}", word(&link.name));
        return Err(spec.oops(what, mend));
    }
    Ok(wanted)
}

fn trouble(spec: &Spec, error: &io::Error) -> OpenError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => OpenError::new(
            spec,
            Cause::Capability,
            "not permitted: packet sockets take CAP_NET_RAW",
            "run as root, or give the program the capability: setcap cap_net_raw+ep FILE",
        ),
        Some(libc::ENOMEM) => {
            OpenError::new(spec, Cause::System, "no memory for the kernel's rings", "use fewer queues or smaller rings")
        }
        _ => OpenError::new(spec, Cause::System, error, "see whether the kernel has packet sockets (CONFIG_PACKET)"),
    }
}

struct Packet {
    carrier: Arc<Carrier>,
    memberships: Memberships,
    name: String,
    links: Mutex<Rtnetlink>,
}

impl Device for Packet {
    fn link(&self) -> Link {
        self.carrier.look()
    }

    fn mtu(&self) -> Option<usize> {
        interface::mtu(&self.links, &self.name)
    }

    fn filter(&self, filter: &Filter) -> Result<(), String> {
        self.memberships.apply(filter, self.carrier.control(), (&self.links, &self.name))
    }

    fn notes(&self) -> Vec<String> {
        self.memberships.note(&self.name).into_iter().collect()
    }

    fn raw_counters(&self) -> Vec<(String, u64)> {
        raw_counters(&self.links, &self.name)
    }
}

#[cfg(test)]
pub(crate) mod tests;
