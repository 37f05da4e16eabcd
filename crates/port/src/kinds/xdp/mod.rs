//! `xdp:IF` joins the rings to a Linux interface by AF_XDP sockets, one a queue, without any library or compiler.
//!
//! # Memory
//! A socket's memory (UMEM) is the region's buffer area itself, so frames pass between ports of one region by a swap of
//! buffers, and where the driver can (zero-copy) the NIC writes straight into them. **Each port registers its memory
//! once, and its queues share that registration** (XDP_SHARED_UMEM), each with rings of its own: the pages are pinned
//! and accounted once per port, and all queues get the mode of the first, so that the port has *one* path to report.
//! Ports do not share a registration: shared sockets inherit the first one's mode even if their driver supports
//! another, and would tie the life of one interface to another's. The kernel permits this: it keeps no record of which
//! socket a buffer came from, so a buffer received by one registration may be sent by another over the same pages.
//!
//! # Checksums
//! A frame that asks for its checksum has the request before its data, in the buffer's headroom, where the driver
//! (zero-copy) or the kernel (copy) completes it; otherwise the port notes that it does not, and the reason. AF_XDP
//! segments nothing. A frame that arrives over a veth with its checksum open is recognised, and delivered with that
//! request.
//!
//! # Trust in the kernel
//! Indices are bounds-checked; each address from the kernel must lie in the memory and name a buffer that is really
//! lent.
//!
//! Out of scope: settings of the interface other than those that a [`Filter`](crate::Filter) asks for. Nothing is left
//! behind: program, map, sockets and filters are held by descriptors.

mod attach;
mod checksums;
mod device;
mod host;
mod moderation;
mod opened;
mod rx;
#[cfg(test)]
mod tests;
mod tx;

use crate::error::{Cause, OpenError};
use crate::info::{Caps, Info};
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::Parts;
use crate::queue::{RxQueue, TxQueue};
use crate::sys::umem::Umem;
use device::{Interface, Socket, XdpDevice};
use host::Host;
use linerate_ring::{RxRing, TxRing};
use std::sync::Arc;

/// Most slots of one frame, in the type of slot counts.
const MOST_SLOTS: u32 = {
    assert!(linerate_ring::layout::MAX_FRAGS == 64);
    64
};

pub(crate) const KIND: Kind = Kind {
    name: "xdp",
    about: "a Linux interface by AF_XDP: zero-copy, copy or generic, and it says which",
    example: "xdp:eth0",
    needs_name: true,
    is_path: false,
    queue_suffix: true,
    options: &[
        OptionRow { key: "queues", value: "N", about: "the first N queues (all that receive and transmit)" },
        OptionRow { key: "mode", value: "MODE", about: "zerocopy, copy or generic (the best available)" },
    ],
    demand,
    open,
};

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    let host = Host::look(spec)?;
    attach::wanted_mode(spec)?;
    let queues = u32::try_from(host.queues.len()).unwrap_or(1);
    Ok(Demand::rings(queues, queues, spec.slots()?, host.buf_size))
}

fn open(spec: &Spec, context: &mut Context<'_>) -> Result<Parts, OpenError> {
    let mut host = Host::look(spec)?;
    let slots = spec.slots()?;
    host.check_region(spec, context.region)?;
    let oops = |e| OpenError::new(spec, Cause::System, e, "use fewer or smaller rings");
    let rings = host.queues.iter().map(|queue| {
        let tx = TxRing::new(context.region, *queue, slots).map_err(oops)?;
        Ok((tx, RxRing::new(context.region, *queue, slots).map_err(oops)?))
    });
    let rings = rings.collect::<Result<Vec<_>, OpenError>>()?;

    // Ports of one interface (`xdp:eth0@0`, `xdp:eth0@1`) share the one program that an interface can have.
    let program = format!("xdp program {}", host.link.index);
    let earlier = context.left.get(&program).and_then(|left| left.downcast_ref::<Arc<attach::Attachment>>()).cloned();
    let umem = Umem::new(context.region);
    let up = attach::bring_up(spec, &mut host, &umem, slots, earlier)?;
    context.left.insert(program, Box::new(up.attachment.clone()));

    let largest = host.largest(context.region.usable(), up.fragments);
    let open = host.link.kind == "veth";
    let interface = Arc::new(Interface::new(host.control, up.attachment.clone()));
    let (mut tx, mut rx, mut sockets) = (Vec::new(), Vec::new(), Vec::new());
    for ((queue, (tx_ring, mut rx_ring)), (xsk, rings)) in host.queues.iter().zip(rings).zip(up.sockets) {
        let socket = Arc::new(Socket::new(*queue, xsk, interface.clone()));
        let sender =
            tx::XdpTx::new(&socket, (rings.tx, rings.completion), &umem, slots, largest, (up.shape, up.requests));
        let receiver = rx::XdpRx::new(&socket, (rings.rx, rings.fill), &umem, &mut rx_ring, open);
        // Frames come only from here on: the buffers for them are ready.
        up.attachment.steer(spec, *queue, &socket.xsk)?;
        tx.push(TxQueue::new(tx_ring, Box::new(sender)));
        rx.push(RxQueue::new(rx_ring, Box::new(receiver)));
        sockets.push(socket);
    }
    let info = Info {
        name: spec.to_string(),
        path: up.path,
        mtu: host.mtu,
        largest,
        mac: host.link.mac,
        caps: Caps { checksum: up.requests, scatter: true, filters: true, metadata: open, ..Caps::default() },
        tx_queues: tx.len(),
        rx_queues: rx.len(),
        slots,
        rate: None,
        notes: host.notes,
    };
    Ok(Parts { info, tx, rx, device: Box::new(XdpDevice::new(interface, sockets, host.netlink, host.link)) })
}
