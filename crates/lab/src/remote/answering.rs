//! A server of netperf's protocol at the far end, for requests that the near end measures.

use linerate_load::netperf::{Place, Server};
use linerate_rt::{Stop, spawn};
use std::net::IpAddr;
use std::thread::JoinHandle;

/// It ends when it is dropped.
pub(super) struct Answering {
    pub(super) port: u16,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Answering {
    /// Listens at an address of this machine, at a port that is free.
    pub(super) fn at(address: IpAddr) -> Result<Self, String> {
        let place = Place { port: 0, bind: Some(address.to_string()), device: None, family: None };
        let server = Server::listen(&place, None).map_err(|fault| fault.to_string())?;
        let port = server.address().map_err(|e| e.to_string())?.port();
        let stop = Stop::new().map_err(|e| e.to_string())?;
        let over = stop.clone();
        // Faults of sessions are told to their clients.
        let thread = spawn("requests", &[], move || drop(server.run(&over, |_| {}))).map_err(|e| e.to_string())?;
        Ok(Self { port, stop, thread: Some(thread) })
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.stop.ask(0);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
