//! A server of this process that says nothing, for tests that another machine asks for.

use super::config::{Part, TestLimits};
use super::measure::{config, silent};
use super::{Fault, server};
use crate::socket::{Place, Site};
use linerate_rt::{Stop, spawn};
use std::net::IpAddr;
use std::thread::JoinHandle;

/// A server of iperf3's protocol, over the kernel's sockets. It ends when it is dropped.
pub struct Server {
    port: u16,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens at an address of this machine, at a port that is free.
    pub fn at(address: IpAddr) -> Result<Self, String> {
        let place = Place { port: 0, bind: Some(address.to_string()), device: None, family: None };
        let site = Site::open(&place, None)?;
        let listen = |e| Fault::Listen(e).to_string();
        let listener = site.listen().map_err(listen)?;
        let port = listener.local_addr().map_err(listen)?.port();
        let site = site.placed(Place { port, ..place });
        let stop = Stop::new().map_err(|e| e.to_string())?;
        let over = stop.clone();
        let thread = spawn("stream-server", &[], move || {
            let config = config(
                site.place(),
                Part::Server { daemon: false, once: false, guard: None, limits: TestLimits::default() },
            );
            // Faults of sessions are told to their clients.
            let _ = server::run(&config, &site, listener, (false, None, &TestLimits::default()), &over, &silent(&over));
        });
        let thread = thread.map_err(|e| e.to_string())?;
        Ok(Self { port, stop, thread: Some(thread) })
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.ask(0);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
