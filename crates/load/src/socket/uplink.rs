//! The machine's own way to another one: nothing is made, and nothing is changed.

use super::{Place, Site};
use linerate_host::Rtnetlink;
use linerate_result::{Parameters, PortUsed, Test};
use std::net::SocketAddr;
use std::path::Path;

/// The server that is given, if one is.
pub(crate) fn peer(all: &Parameters) -> Result<Option<SocketAddr>, String> {
    let Some(given) = all.get("peer") else { return Ok(None) };
    let peer = given.text().and_then(|text| text.parse().ok());
    peer.map(Some).ok_or_else(|| "peer: give an address and a port: 192.0.2.7:5201, [2001:db8::7]:5201".to_owned())
}

/// Bytes of headers of a packet: Ethernet, IPv6, TCP with time-stamps.
const HEADERS: u64 = 14 + 40 + 32;
/// Bytes that others may carry over an interface without a word: names, neighbours, the test's own control connection.
const ASIDE: u64 = 1 << 20;

/// The kernel's sockets, on the way to a server.
pub(crate) struct Uplink {
    pub(crate) site: Site,
    pub(crate) ports: Vec<PortUsed>,
}

impl Uplink {
    /// Looks up the way to a server. If an MTU is given, its interface must have it.
    pub(crate) fn to(server: SocketAddr, mtu: Option<u64>) -> Result<Self, String> {
        let wrong = |e: linerate_host::Error| e.to_string();
        let mut links = Rtnetlink::open().map_err(wrong)?;
        let link = links.path_to(server.ip()).and_then(|path| links.link_at(path.index)).map_err(wrong)?;
        if let Some(mtu) = mtu.filter(|mtu| *mtu != u64::from(link.mtu)) {
            let (name, has) = (link.name, link.mtu);
            return Err(format!(
                "mtu: {name}, the way to {}, has {has}; give both ends {mtu}, or leave mtu out",
                server.ip()
            ));
        }
        let place = Place { port: server.port(), bind: None, device: None, family: None };
        let path = format!("the kernel's sockets over {} to {}", link.name, server.ip());
        let ports = vec![PortUsed { name: link.name, path, mtu: Some(link.mtu), ..PortUsed::default() }];
        Ok(Self { site: Site::open(&place, None)?, ports })
    }
}

/// Bytes sent, bytes received and packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Carried([u64; 3]);

/// An interface during a measurement, by whose counters the payload is judged.
pub(crate) struct Wire {
    name: String,
    before: Option<Carried>,
}

impl Wire {
    /// Reads the counters of the first of these ports, which is an interface.
    pub(crate) fn watch(ports: &[PortUsed]) -> Self {
        let name = ports.first().map(|port| port.name.clone()).unwrap_or_default();
        Self { before: Carried::of(&name), name }
    }

    /// Compares what a test moved over the interface with what that counted, and with its speed. Where the interface has no
    /// counters, nothing is said, nor of what is too much if the test was not `alone`.
    pub(crate) fn judge(self, test: &mut Test, alone: bool) {
        let Some((now, before)) = Carried::of(&self.name).zip(self.before) else { return };
        let mut carried = Carried(std::array::from_fn(|k| now.0[k].saturating_sub(before.0[k])));
        if self.name == "lo" {
            // Each byte is both sent and received.
            carried.0[1] = 0;
        }
        // What a veth pair or a bridge says of its speed limits nothing: only a device has a wire.
        let speed = number(&self.name, "speed").filter(|speed| *speed > 0 && has_device(&self.name));
        let speed = speed.map(|megabits| megabits as f64 * 1e6);
        let payload = test.counters.total("bytes received").unwrap_or(0);
        let value = test.value.as_ref().and_then(|value| value.median.known()).unwrap_or(0.0);
        let (wrong, beside) = judged(carried, payload, value, speed);
        test.warnings.extend(beside.filter(|_| alone).map(|why| format!("{}: {why}", self.name)));
        if let Some(why) = wrong.map(|why| format!("{}: {why}: the figure cannot be true", self.name)) {
            test.discard(&why);
            test.failures.push(why);
        }
    }
}

fn number(interface: &str, file: &str) -> Option<u64> {
    std::fs::read_to_string(format!("/sys/class/net/{interface}/{file}")).ok()?.trim().parse().ok()
}

impl Carried {
    fn of(interface: &str) -> Option<Self> {
        let count = |name: &str| number(interface, &format!("statistics/{name}"));
        Some(Self([count("tx_bytes")?, count("rx_bytes")?, count("tx_packets")? + count("rx_packets")?]))
    }
}

fn has_device(interface: &str) -> bool {
    Path::new("/sys/class/net").join(interface).join("device").exists()
}

/// Reason why a figure cannot be true, and what else the interface carried.
fn judged(
    Carried([sent, received, packets]): Carried,
    payload: u64,
    bits_per_second: f64,
    speed: Option<f64>,
) -> (Option<String>, Option<String>) {
    let wire = sent + received;
    if wire < payload {
        return (Some(format!("{payload} bytes arrived, and it carried {wire}")), None);
    }
    // Each direction has the whole speed. An adapter of a virtual machine may say one that limits nothing.
    if let Some(speed) = speed.filter(|speed| bits_per_second > 2.0 * speed) {
        let beside =
            format!("{bits_per_second:.0} bit/s on a link of {speed:.0}: with an adapter of wires that cannot be");
        return (None, Some(beside));
    }
    let others = wire.saturating_sub(payload + packets * HEADERS);
    let beside = (others > payload / 2 + ASIDE).then(|| {
        format!("it carried {others} bytes more than the {payload} measured and their headers: other programs used it, or much was sent again")
    });
    (None, beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_judged_by_what_the_interface_carried() {
        let judge = |carried: [u64; 3], payload, rate, speed| {
            let (wrong, beside) = judged(Carried(carried), payload, rate, speed);
            [wrong, beside].map(|why| why.is_some())
        };
        let (plain, link) = ([10_500_000, 300_000, 8_000], Some(1e9));
        assert_eq!(judge(plain, 10_000_000, 0.9e9, link), [false; 2]);
        assert_eq!(judge(plain, 10_000_000, 0.9e9, None), [false; 2], "a link without a speed, as a veth's");
        assert_eq!(judge(plain, 11_000_000, 0.9e9, link), [true, false], "less on the wire than arrived");
        assert_eq!(judge([0, 0, 0], 1, 1.0, None), [true, false], "zero is no pass");
        assert_eq!(judge([30_000_000, 300_000, 20_000], 10_000_000, 0.9e9, link), [false, true]);
        assert_eq!(judge(plain, 10_000_000, 1.9e9, link), [false; 2], "both ways together");
        assert_eq!(judge(plain, 10_000_000, 2.1e9, link), [false, true]);
        // Small datagrams are mostly headers.
        assert_eq!(judge([90_000_000, 0, 1_000_000], 16_000_000, 1e6, link), [false; 2]);
    }

    /// Over the loopback interface, as over any other, every byte that arrives was carried.
    #[test]
    fn an_interface_without_traffic_carried_nothing_and_makes_a_figure_untrue() {
        use linerate_result::{Repeat, Unit};
        let port = PortUsed { name: "lo".to_owned(), ..PortUsed::default() };
        let mut test =
            Test { repeats: vec![Repeat { value: 8.0.into(), valid: true, ..Repeat::default() }], ..Test::default() };
        test.summarize(Unit::BitsPerSecond);
        test.counters.add(None, "bytes received", u64::MAX / 2);
        let wire = Wire::watch(&[port]);
        if wire.before.is_none() {
            return linerate_skip::skip!("/sys/class/net/lo has no counters here");
        }
        wire.judge(&mut test, true);
        assert!(test.value.is_none() && test.failures[0].starts_with("lo: "), "{test:?}");
    }
}
