//! A connection to the far end for the doctor: it looks there, and has proofs served. Nothing is changed there.

use super::line::Line;
use super::near::Far;
use super::words::Request;
use crate::doctor::{Load, ProofServer, Side};
use linerate_host::Rtnetlink;
use linerate_rt::Stop;
use std::net::{IpAddr, SocketAddr};

/// The far end, which has chosen its interface on the way to this machine.
pub struct Visit {
    line: Line,
    destination: String,
    pub address: IpAddr,
}

impl Visit {
    /// Starts the far end.
    pub fn open(far: &Far, stop: &Stop) -> Result<Self, String> {
        let address = far.address()?;
        let wrong = |e: linerate_host::Error| format!("--remote: {e}");
        let source = Rtnetlink::open().and_then(|mut links| links.path_to(address)).map_err(wrong)?.source;
        let mut line = Line::open(far, stop)?;
        line.ask(Request::Path(source), stop)?;
        Ok(Self { line, destination: far.destination.clone(), address })
    }

    /// Has the far end examine its interface and its machine.
    pub fn examine(&mut self, loads: &[Load], stop: &Stop) -> Result<Side, String> {
        let said = self.line.ask(Request::Doctor(loads.to_vec()), stop)?;
        let there = &self.destination;
        let side: Side = serde_json::from_str(&said).map_err(|e| {
            format!("{there}: what its agent says is not understood ({e}); have the same linerate at both ends")
        })?;
        Ok(Side { at: format!("{there} (linerate {})", self.line.system), ..side })
    }

    /// Has the far end serve streams and requests, until this connection ends.
    pub fn serve(&mut self, stop: &Stop) -> Result<ProofServer, String> {
        let mut port = |request| {
            let said = self.line.ask(request, stop)?;
            let port = said.parse().map_err(|_| format!("{}: the agent says {said:?} for a port", self.destination));
            port.map(|port| SocketAddr::new(self.address, port))
        };
        Ok(ProofServer { streams: port(Request::Serve)?, requests: port(Request::Answer)? })
    }
}
