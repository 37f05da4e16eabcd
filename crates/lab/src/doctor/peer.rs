//! A peer without an agent: whether it answers echo requests, how soon, and packets of which size.

use crate::quantity;
use linerate_host::{Echo, Rtnetlink};
use linerate_rt::Stop;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::time::Duration;

/// Requests by which loss is seen, and time for each response.
const REQUESTS: u32 = 20;
const LIMIT: Duration = Duration::from_millis(500);
/// Requests without any response after which the peer is silent.
const SILENT: u32 = 4;
/// Attempts with a packet of one size.
const ATTEMPTS: usize = 2;

/// Answers of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Its address.
    pub peer: IpAddr,
    /// The interface by which it is reached, and its MTU.
    pub way: String,
    /// MTU of that.
    pub mtu: usize,
    /// Requests, and responses.
    pub asked: u32,
    /// Responses to them.
    pub answered: u32,
    /// Shortest and longest time of a response.
    pub times: Option<(Duration, Duration)>,
    /// Longest packet that came back, bytes with its IP header.
    pub largest: usize,
}

impl Probed {
    /// All of it, in a line.
    pub(super) fn line(&self) -> String {
        let Self { peer, way, asked, answered, largest, .. } = self;
        let times = self.times.map_or_else(String::new, |(least, most)| {
            let [least, most] = [least, most].map(|time| quantity::nanoseconds(time.as_secs_f64() * 1e9));
            format!(" in {least} to {most}; packets of up to {largest} bytes come back")
        });
        format!("{peer} by {way}: {answered} of {asked} echo requests answered{times}.")
    }
}

/// Probes a peer.
///
/// # Errors
/// One line: there is no way to it, or no socket for the requests.
pub(super) fn probe(peer: IpAddr, stop: &Stop) -> Result<Probed, String> {
    let wrong = |e: linerate_host::Error| format!("--peer {peer}: {e}");
    let mut links = Rtnetlink::open().map_err(wrong)?;
    let link = links.path_to(peer).and_then(|path| links.link_at(path.index)).map_err(wrong)?;
    let mut echo = Echo::open(peer).map_err(|e| match e.kind() {
        ErrorKind::PermissionDenied => format!("--peer {peer}: {e}; run as root, or with CAP_NET_RAW"),
        _ => format!("--peer {peer}: {e}; give an address that this machine reaches"),
    })?;
    let mtu = usize::try_from(link.mtu).unwrap_or_default();
    let mut probed = Probed { peer, way: link.name, mtu, asked: 0, answered: 0, times: None, largest: 0 };
    let mut ask = |size: usize, limit: Duration| match echo.ask(size, limit) {
        Ok(time) => Ok(time),
        // Its address is not resolved, or a router knows no way.
        Err(e) if matches!(e.kind(), ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => Ok(None),
        Err(e) => Err(format!("--peer {peer}: {e}")),
    };
    while probed.asked < REQUESTS && !stop.asked() && (probed.answered > 0 || probed.asked < SILENT) {
        probed.asked += 1;
        if let Some(time) = ask(64, LIMIT)? {
            probed.answered += 1;
            let (least, most) = probed.times.unwrap_or((time, time));
            probed.times = Some((least.min(time), most.max(time)));
        }
    }
    let Some((_, slowest)) = probed.times else { return Ok(probed) };
    // Long enough for what is slower because it is longer.
    let limit = (slowest * 4).clamp(Duration::from_millis(50), LIMIT);
    let mut comes = |size: usize| -> Result<bool, String> {
        for _ in 0..ATTEMPTS {
            if ask(size, limit)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    };
    // What comes back, and what does not.
    let (mut low, mut high) = (64, mtu.min(65_535));
    if comes(high)? {
        low = high;
    }
    while low + 1 < high && !stop.asked() {
        let middle = usize::midpoint(low, high);
        if comes(middle)? { low = middle } else { high = middle }
    }
    probed.largest = low;
    Ok(probed)
}
