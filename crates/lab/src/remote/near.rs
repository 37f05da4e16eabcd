//! The near end: starts the far one by `ssh`, and measures points with it.

use super::end::End;
use super::line::Line;
use super::words::Request;
use crate::sweep::Point;
use linerate_result::{PortUsed, Test};
use linerate_rt::Stop;
use linerate_text::plain;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

/// Time for the server to be reached after a change.
const SETTLES: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(100);

/// The other machine, as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Far {
    /// Destination of `ssh`: the management address.
    pub destination: String,
    /// Address over which is measured; without one the destination's.
    pub to: Option<String>,
    /// The command that logs in, with its options.
    pub ssh: String,
    /// The program there.
    pub program: String,
    /// True to take both interfaces down and up after a change of their MTU.
    pub cycles: bool,
}

impl Far {
    #[must_use]
    pub fn data(&self) -> &str {
        let host = || self.destination.rsplit_once('@').map_or(self.destination.as_str(), |(_, host)| host);
        self.to.as_deref().unwrap_or_else(host)
    }

    /// Address over which is measured.
    ///
    /// # Errors
    /// The name has none, or is no destination.
    pub fn address(&self) -> Result<IpAddr, String> {
        // It would be an option, of which some run commands here.
        if self.destination.starts_with('-') {
            return Err(format!("--remote: {} is no USER@HOST: it begins with a dash", plain(&self.destination)));
        }
        let found = (self.data(), 0).to_socket_addrs().ok().and_then(|mut all| all.next());
        found.map(|found| found.ip()).ok_or_else(|| {
            format!("--remote: {} has no address; give the address over which is measured by --to", self.data())
        })
    }
}

/// A connection to the far end, and what it was told.
pub struct Remote {
    line: Line,
    near: Option<End>,
    server: SocketAddr,
    cycles: bool,
    /// The far interface and its machine, for results.
    far: PortUsed,
    /// MTU of both interfaces.
    mtu: [u32; 2],
}

impl Remote {
    /// Starts the far end, and finds the interfaces of both. Nothing is changed yet; `mtus`: those that will be asked for.
    /// `records`: directory of what was changed, for a later process.
    pub fn connect(far: &Far, mtus: &[u32], records: &Path, stop: &Stop) -> Result<Self, String> {
        let mut near = End::to(far.address()?, records).map_err(|why| format!("--remote: {why}"))?;
        let mut line = Line::open(far, stop)?;
        let there = &far.destination;
        let said = line.ask(Request::Path(near.source()), stop)?;
        let words: Vec<&str> = said.split(' ').collect();
        let (name, theirs, address) = match words[..] {
            [name, mtu, address] => Some((name.to_owned(), mtu.parse().ok(), address.parse::<IpAddr>().ok())),
            _ => None,
        }
        .and_then(|(name, mtu, address)| Some((name, mtu?, address?)))
        .ok_or_else(|| format!("{there}: the agent says {said:?}; have the same linerate at both ends"))?;
        let mtu = [near.mtu()?, theirs];
        if let Some(least) = mtus.iter().min().filter(|_| mtus.iter().any(|other| mtu != [*other; 2])) {
            near.check(far.cycles, *least)?;
            line.ask(Request::Check { cycled: far.cycles, least: *least }, stop)?;
        }
        let port = line.ask(Request::Serve, stop)?;
        let port = port.parse().map_err(|_| format!("{there}: the agent says {port:?} for a port"))?;
        let path = format!("the kernel's sockets of {there} at {address} (linerate {})", line.system);
        let far_port = PortUsed { name, path, mtu: Some(theirs), ..PortUsed::default() };
        let server = SocketAddr::new(address, port);
        Ok(Self { line, near: Some(near), server, cycles: far.cycles, far: far_port, mtu })
    }

    /// Measures a point with the far end, after its MTU was given to both interfaces.
    pub fn measure(&mut self, point: &Point, stop: &Stop) -> Result<Vec<Test>, String> {
        if let Some(mtu) = point.mtu() {
            self.set_mtu(mtu, stop)?;
        }
        let mut test = point.workload.measure(&point.with(self.server).parameters, stop)?;
        test.ports.push(self.far.clone());
        Ok(vec![test])
    }

    fn set_mtu(&mut self, mtu: u32, stop: &Stop) -> Result<(), String> {
        let Some(near) = self.near.as_mut().filter(|_| self.mtu != [mtu; 2]) else { return Ok(()) };
        // What fails in the middle is not known to be set.
        self.mtu = [0; 2];
        self.line.ask(Request::Mtu(mtu), stop)?;
        near.set_mtu(mtu)?;
        if self.cycles {
            self.line.ask(Request::Cycle, stop)?;
            near.cycle()?;
        }
        near.ready(stop)?;
        self.line.ask(Request::Ready, stop)?;
        let until = Instant::now() + SETTLES;
        while let Err(why) = TcpStream::connect_timeout(&self.server, Duration::from_secs(1)) {
            if stop.asked() || Instant::now() >= until {
                return Err(format!("{}: not reached with an MTU of {mtu}: {why}; see 'ip neigh'", self.server.ip()));
            }
            std::thread::sleep(LOOK);
        }
        self.mtu = [mtu; 2];
        self.far.mtu = Some(mtu);
        Ok(())
    }

    /// Puts both interfaces back; lines about what could not be put back. The far end says its own on standard error.
    pub fn end(mut self) -> Vec<String> {
        self.near.take().map(End::put_back).unwrap_or_default()
    }
}
