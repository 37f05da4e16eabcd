//! Flags of programs whose sockets may be those of a host of our own: its port, addresses, routes and MTU; and their check.

use super::{Flag, number, value};
use crate::resolve;
use crate::socket::Own;
use linerate_stack::{CidrError, RouteError};

/// State with a host of our own, which has no port yet if there is none.
pub(crate) trait Hosted {
    fn host(&mut self) -> &mut Own;
}

pub(crate) const fn via<S: Hosted, A>(scope: A) -> Flag<S, A> {
    value(
        "--via kernel|PORT",
        scope,
        "whose sockets: the kernel's, or those of a host of our own on a port (kernel)",
        |s: &mut S, v| {
            s.host().port = if v == "kernel" { String::new() } else { resolve(v).0 };
            if v.is_empty() { Err("give kernel, or a port such as packet:eth0 or cable:lab{1".into()) } else { Ok(()) }
        },
    )
}

pub(crate) const fn addr<S: Hosted, A>(scope: A) -> Flag<S, A> {
    let about = "address of that host, such as 10.0.0.2/24; may be given more than once";
    value("--addr CIDR", scope, about, |s: &mut S, v| {
        v.parse().map(|cidr| s.host().addresses.push(cidr)).map_err(|e: CidrError| e.to_string())
    })
}

pub(crate) const fn route<S: Hosted, A>(scope: A) -> Flag<S, A> {
    value("--route CIDR=ROUTER", scope, "route of that host, such as 0.0.0.0/0=10.0.0.1", |s: &mut S, v| {
        v.parse().map(|route| s.host().routes.push(route)).map_err(|e: RouteError| e.to_string())
    })
}

pub(crate) const fn mtu<S: Hosted, A>(scope: A) -> Flag<S, A> {
    value("--mtu BYTES", scope, "longest IP packet of that host (the port's)", |s: &mut S, v| {
        number(v, 576..=65_535_u32).map(|n| s.host().mtu = usize::try_from(n).ok())
    })
}

/// The host of our own, if one is asked for. `only_kernel` has the flags that have an effect on the kernel's sockets only, each
/// behind whether it was given.
pub(crate) fn host(own: Own, only_kernel: &[(bool, &str)]) -> Result<Option<Own>, String> {
    if own.port.is_empty() {
        let rows =
            [(!own.addresses.is_empty(), "--addr"), (!own.routes.is_empty(), "--route"), (own.mtu.is_some(), "--mtu")];
        return match rows.iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(format!("{flag}: the kernel has its own; give --via PORT too, or leave it out")),
            None => Ok(None),
        };
    }
    if own.addresses.is_empty() {
        return Err(format!("--via {}: a host needs an address; give --addr, such as --addr 10.0.0.2/24", own.port));
    }
    match only_kernel.iter().find(|(given, _)| *given) {
        Some((_, flag)) => Err(format!("{flag}: a host of our own (--via) has no such thing; leave it out")),
        None => Ok(Some(own)),
    }
}
