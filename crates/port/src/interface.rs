//! Interfaces of the system that ports name, as the kernel describes them.

use crate::error::{Cause, OpenError};
use crate::info::Link;
use crate::kind::Spec;
use linerate_host::{Control, LinkState, Rtnetlink};
use std::io;
use std::sync::{Mutex, PoisonError};

/// The interface that a port names.
pub(crate) fn find(spec: &Spec, links: &mut Rtnetlink) -> Result<LinkState, OpenError> {
    let missing = || OpenError::new(spec, Cause::Missing, "there is no such interface", "see the names in 'ip link'");
    links.link(&spec.name).map_err(|e| match e.cause {
        linerate_host::Cause::Missing => missing(),
        _ => OpenError::below(spec, e),
    })
}

/// State of an interface's link.
pub(crate) fn link(control: &Control) -> Link {
    match control.running() {
        Ok(true) => Link::Up,
        Err(e) if e.kind() == io::ErrorKind::NotFound => Link::Gone,
        Ok(false) | Err(_) => Link::Down,
    }
}

/// Kernel counters of an interface; empty if it is gone.
pub(crate) fn raw_counters(links: &Mutex<Rtnetlink>, name: &str) -> Vec<(String, u64)> {
    let state = links.lock().unwrap_or_else(PoisonError::into_inner).link(name);
    state.map_or_else(|_| Vec::new(), |link| link.stats.rows().map(|(key, n)| (format!("link_{key}"), n)).into())
}
