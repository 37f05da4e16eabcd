//! Pairs of virtual Ethernet interfaces, made and configured without `ip` or `ethtool`.

use crate::error::{Cause, Error};
use crate::ethtool::{Ethtool, Offloads};
use crate::facts::is_name;
use crate::netlink::Netlink;
use crate::netlink::link::{LinkChange, LinkState};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Two interfaces that are each other's far ends. Both are deleted when this value is dropped.
///
/// It may be used from any thread: its requests go to the namespace in which it was made.
#[must_use = "the interfaces go when this value does"]
pub struct VethPair {
    names: [String; 2],
    index: u32,
    links: Mutex<Netlink>,
    /// Error if this kernel has no ethtool netlink.
    ethtool: Result<Mutex<Ethtool>, Error>,
}

impl VethPair {
    /// Makes a pair in the calling thread's network namespace with so many queues each way, switches both ends on and
    /// returns when both have a carrier. They get no addresses and send nothing by themselves. Needs CAP_NET_ADMIN.
    ///
    /// `mtu` is in bytes, 68 to 65535; names have 1 to 15 bytes.
    pub fn new(names: [&str; 2], queues: u32, mtu: u32) -> Result<Self, Error> {
        let subject = format!("veth pair {} {}", names[0], names[1]);
        for name in names {
            if !is_name(name) {
                return Err(Error::new(
                    subject,
                    Cause::Usage,
                    "that is no interface's name",
                    "give 1 to 15 letters and digits",
                ));
            }
        }
        if !(1..=4096).contains(&queues) || !(68..=65535).contains(&mtu) {
            let what = format!("queues={queues} mtu={mtu} will not do");
            return Err(Error::new(subject, Cause::Usage, what, "give 1 to 4096 queues and an MTU from 68 to 65535"));
        }
        let ethtool = Ethtool::open().map(Mutex::new);
        let make = || -> io::Result<Self> {
            let mut links = Netlink::open()?;
            links.make_veth(names, queues, mtu)?;
            let index = links.link(names[0])?.index;
            // From here on the pair is deleted on drop if a step fails.
            let pair = Self { names: names.map(str::to_owned), index, links: Mutex::new(links), ethtool };
            for name in names {
                let mut links = pair.links();
                let index = links.link(name)?.index;
                links.start_quietly(index)?;
            }
            // The kernel reports the carrier a little later.
            let until = Instant::now() + Duration::from_secs(5);
            while !names.iter().all(|name| pair.links().link(name).is_ok_and(|link| link.running)) {
                if Instant::now() > until {
                    return Err(io::Error::from(io::ErrorKind::TimedOut));
                }
                thread::sleep(Duration::from_millis(1));
            }
            Ok(pair)
        };
        make().map_err(|e| Error::of(&subject, "making it", &e))
    }

    #[must_use]
    pub fn names(&self) -> [&str; 2] {
        [&self.names[0], &self.names[1]]
    }

    /// State of one end (or of any other link of the namespace), with the kernel's counters.
    pub fn link(&self, name: &str) -> Result<LinkState, Error> {
        self.links().link(name).map_err(|e| Error::of(name, "reading its state", &e))
    }

    /// Switches one end on or off. Off at one end takes the carrier from the other, which the kernel may report up to a
    /// second late.
    pub fn set_up(&self, name: &str, up: bool) -> Result<(), Error> {
        let mut links = self.links();
        let change = LinkChange { up: Some(up), ..LinkChange::default() };
        let done = links.link(name).and_then(|link| links.change(link.index, change));
        done.map_err(|e| Error::of(name, "switching it", &e))
    }

    pub fn offloads(&self, name: &str) -> Result<Offloads, Error> {
        self.ethtool()?.offloads(name)
    }

    /// Sets one end's offloads; returns those that it then has, because some need others (TSO needs checksums).
    pub fn set_offloads(&self, name: &str, offloads: Offloads) -> Result<Offloads, Error> {
        self.ethtool()?.set_offloads(name, offloads)
    }

    fn ethtool(&self) -> Result<MutexGuard<'_, Ethtool>, Error> {
        let ethtool = self.ethtool.as_ref().map_err(Error::clone)?;
        Ok(ethtool.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn links(&self) -> MutexGuard<'_, Netlink> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for VethPair {
    fn drop(&mut self) {
        // They may have been deleted already.
        let _ = self.links().delete(self.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Namespace;
    use crate::netlink::link::LinkStats;

    /// None, with the reason on standard output, if the privilege is missing.
    fn namespace() -> Option<Namespace> {
        linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability)
    }

    #[test]
    fn a_pair_is_up_and_silent_and_goes_when_it_is_dropped() {
        let Some(ns) = namespace() else { return };
        let pair = ns.run_in(|| VethPair::new(["va", "vb"], 4, 9000)).unwrap().unwrap();
        for name in pair.names() {
            let link = pair.link(name).unwrap();
            assert_eq!((link.name.as_str(), link.kind.as_str(), link.mtu), (name, "veth", 9000));
            assert_eq!((link.tx_queues, link.rx_queues), (4, 4));
            assert!(link.up && link.running && link.mac.is_some());
            assert_eq!(link.stats, LinkStats::default());
        }
        pair.set_up("va", false).unwrap();
        assert!(!pair.link("va").unwrap().up);
        let until = Instant::now() + Duration::from_secs(20);
        while pair.link("vb").unwrap().running {
            assert!(Instant::now() < until, "the far end keeps its carrier");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(pair.link("lo").unwrap().up);
        let again = ns.run_in(|| VethPair::new(["va", "vc"], 1, 1500)).unwrap().err().unwrap();
        assert_eq!(again.cause, Cause::Busy, "{again}");
        drop(pair);
        ns.run_in(|| {
            let e = Netlink::open().unwrap().link("va").unwrap_err();
            assert_eq!(e.raw_os_error(), Some(libc::ENODEV));
        })
        .unwrap();
    }

    #[test]
    fn offloads_are_what_was_set() {
        let Some(ns) = namespace() else { return };
        let pair = ns.run_in(|| VethPair::new(["va", "vb"], 1, 1500)).unwrap().unwrap();
        let before = pair.offloads("va").unwrap();
        assert!(before.tx_checksum && before.tso && before.gso);
        let off = Offloads { tx_checksum: false, tso: false, gso: false, gro: true };
        assert_eq!(pair.set_offloads("va", off).unwrap(), off);
        assert_eq!(pair.offloads("va").unwrap(), off);
        assert_eq!(pair.offloads("vb").unwrap(), before, "the far end keeps its own");
        assert_eq!(pair.set_offloads("va", before).unwrap(), before);
        assert!(pair.offloads("nosuch").is_err());
    }

    #[test]
    fn a_namespace_is_nobody_elses() {
        let Some(ns) = namespace() else { return };
        let pair = ns.run_in(|| VethPair::new(["linerate-t0", "linerate-t1"], 1, 1500)).unwrap().unwrap();
        assert!(Netlink::open().unwrap().link("linerate-t0").is_err(), "not here");
        assert!(ns.run_in(|| Netlink::open().unwrap().link("linerate-t0").is_ok()).unwrap());
        assert!(
            ns.run_in(|| thread::spawn(|| Netlink::open().unwrap().link("linerate-t0").is_ok()).join().unwrap())
                .unwrap()
        );
        drop(pair);
    }

    #[test]
    fn wrong_names_and_shapes_are_named() {
        for (names, queues, mtu, word) in [
            (["", "b"], 1, 1500, "no interface's name"),
            (["a b", "b"], 1, 1500, "no interface's name"),
            (["a234567890123456", "b"], 1, 1500, "no interface's name"),
            (["a", "b"], 0, 1500, "queues=0"),
            (["a", "b"], 1, 10, "mtu=10"),
        ] {
            let line = VethPair::new(names, queues, mtu).err().unwrap().to_string();
            assert!(line.contains(word) && !line.contains('\n'), "{line}");
        }
    }
}
