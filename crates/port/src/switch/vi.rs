//! `PORT/viN`: a virtual interface of the adapter that another process runs on a port (`linerate nic up`). It is joined as a
//! port of a switch is, at a listener of the adapter's, which tells the interface's address and largest frame.

use super::hello::Hello;
use super::vale::shape;
use crate::cable;
use crate::error::OpenError;
use crate::kind::{Context, Demand, Kind, OptionRow, Spec};
use crate::port::Parts;

pub(crate) const KIND: Kind = Kind {
    name: "vi",
    about: "a virtual interface of the adapter that `linerate nic up -i PORT` runs on a port",
    example: "PORT/viN",
    needs_name: true,
    is_path: false,
    queue_suffix: false,
    options: &[OptionRow { key: "queues", value: "N", about: "queues each way, 1 to 16 (1)" }],
    demand,
    open,
};

/// Bytes of the longest name of a socket: a path of one has 108, of which the directory takes some.
const LONGEST: usize = 64;

/// File name of the socket of an adapter over a port, given by kind and name, without its ending; None if the name is too
/// long, or cannot stand in one.
pub(super) fn socket_name(port: &str) -> Option<String> {
    (port.len() <= LONGEST && !port.contains('/')).then(|| format!("nic-{port}"))
}

/// Number of an interface as the name of a port at the adapter's listener.
fn port_name(interface: usize) -> String {
    format!("vi{interface}")
}

fn address(spec: &Spec) -> Result<(String, String), OpenError> {
    let named = spec.interface().and_then(|(port, number)| Some((socket_name(port)?, port_name(number))));
    named.ok_or_else(|| spec.oops("that names no virtual interface", "write it as xdp:eth0/vi5"))
}

fn demand(spec: &Spec) -> Result<Demand, OpenError> {
    address(spec)?;
    let shape = shape(spec)?;
    Ok(Demand::rings(shape.queues, shape.queues, shape.slots, shape.buf_size))
}

fn open(spec: &Spec, _: &mut Context<'_>) -> Result<Parts, OpenError> {
    let ((socket, port), shape) = (address(spec)?, shape(spec)?);
    let hello = Hello { shape, pause: None, port, vlans: String::new() };
    let path = "virtual interface of an adapter in another process, over memory between the two".to_owned();
    cable::join(spec, &socket, hello.write(), &shape, path)
}
