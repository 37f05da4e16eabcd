//! The small network in which the kernel's path is measured.

use crate::profile::sys::udp;
use linerate_host::{Cause, Cut, Error, LinkStats, Namespace, Place, Rtnetlink, VethPair};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

pub(super) const HERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub(super) const THERE: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// Address in a network with a route of type `unreachable`.
pub(super) const NOWHERE: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
/// The discard service (RFC 863).
pub(super) const PORT: u16 = 9;
/// Interface by which datagrams are sent.
pub(super) const NEAR: &str = "near";
/// Interface at the far end, in a namespace of its own.
pub(super) const FAR: &str = "far";

/// Growth of a count from `before`, once that is as much as is wanted, or for 2 s: soft interrupts may be a little late.
pub(super) fn settled(before: u64, wanted: u64, mut count: impl FnMut() -> Result<u64, String>) -> Result<u64, String> {
    let until = Instant::now() + Duration::from_secs(2);
    loop {
        let grown = count()? - before;
        if grown >= wanted || Instant::now() >= until {
            return Ok(grown);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A network in the calling thread's namespace.
pub(super) struct Lan {
    pub(super) net: Rtnetlink,
    far: Option<(Namespace, VethPair)>,
    /// Hardware addresses of the near and the far interface of a pair.
    pub(super) stations: [[u8; 6]; 2],
}

impl Lan {
    /// Makes an interface that drops all frames sent.
    pub(super) fn sink() -> Result<Self, Error> {
        let mut net = Rtnetlink::open()?;
        net.make_sink(NEAR)?;
        net.add_address(NEAR, HERE, 24)?;
        net.add_unreachable(Ipv4Addr::new(10, 78, 0, 0), 16)?;
        Ok(Self { net, far: None, stations: [[0; 6]; 2] })
    }

    /// Makes a veth pair with its far end in another namespace.
    pub(super) fn veth() -> Result<Self, Error> {
        let mut net = Rtnetlink::open()?;
        let far = Namespace::new()?;
        let pair = VethPair::new([NEAR, FAR], 1, 1500)?;
        let [near_mac, mac] = [pair.link(NEAR)?, pair.link(FAR)?].map(|link| link.mac.unwrap_or_default());
        net.move_to(FAR, &far)?;
        far.run_in(|| -> Result<(), Error> {
            let mut net = Rtnetlink::open()?;
            net.set_up(FAR, true)?;
            net.add_address(FAR, THERE, 24)?;
            net.add_neighbour(FAR, HERE, near_mac)
        })??;
        net.add_address(NEAR, HERE, 24)?;
        net.add_neighbour(NEAR, THERE, mac)?;
        net.add_unreachable(Ipv4Addr::new(10, 78, 0, 0), 16)?;
        // The carrier comes a little later, and frames sent before are lost.
        let until = Instant::now() + Duration::from_secs(5);
        while !net.link(NEAR)?.running && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Self { net, far: Some((far, pair)), stations: [near_mac, mac] })
    }

    pub(super) fn has_far(&self) -> bool {
        self.far.is_some()
    }

    /// Runs a function in the namespace of the far end; here if there is none.
    pub(super) fn at_far<T: Send>(&self, run: impl FnOnce() -> T + Send) -> Result<T, Error> {
        match &self.far {
            Some((far, _)) => far.run_in(run),
            None => Ok(run()),
        }
    }

    /// Attaches a program at the far end.
    pub(super) fn cut_at_far(&self, place: Place<'static>, pass: bool) -> Result<Cut, Error> {
        self.at_far(|| if pass { Cut::pass_at(place) } else { Cut::drop_at(place) })?
    }

    /// Counters of the near interface.
    pub(super) fn stats(&mut self) -> Result<LinkStats, Error> {
        self.net.link(NEAR).map(|link| link.stats)
    }
}

/// A socket that sends, connected or not, with buffer space for datagrams in transit.
pub(super) fn sender(connected: bool) -> Result<UdpSocket, Error> {
    let open = || {
        let socket = UdpSocket::bind(SocketAddr::from((HERE, 0)))?;
        if connected {
            socket.connect(SocketAddr::from((THERE, PORT)))?;
        }
        udp::set_buffer(&socket, false, 4 << 20);
        Ok(socket)
    };
    open().map_err(|e: std::io::Error| {
        Error::new("UDP socket", Cause::System, e, "see what the kernel logged, and try again")
    })
}
