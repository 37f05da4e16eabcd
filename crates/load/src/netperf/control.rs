//! The control connection: messages, each whole within a time, and until a stop is requested.

use super::fault::Fault;
use super::protocol::Message;
use super::timer::Look;
use crate::socket::{Got, TcpStream};
use linerate_rt::Stop;
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for the other end to take a message, and for the rest of one that has begun.
const TAKES: Duration = Duration::from_secs(10);
/// Silence after which the other end is asked whether it is there.
const ALIVE: Duration = Duration::from_secs(30);

pub(super) struct Control {
    stream: TcpStream,
    stop: Stop,
}

impl Control {
    /// Takes a connection, whose waits end when the stop is requested.
    pub(super) fn new(stream: TcpStream, stop: &Stop) -> Result<Self, Fault> {
        let set = stream.set_nodelay(true).and_then(|()| stream.set_polled(TAKES));
        // A peer that has vanished without a word is found out.
        set.and_then(|()| stream.keep_alive(ALIVE)).map_err(Fault::Control)?;
        Ok(Self { stream, stop: stop.clone() })
    }

    /// The stop that ends its waits.
    pub(super) fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Addresses of both ends: own, other.
    pub(super) fn addresses(&self) -> Result<(SocketAddr, SocketAddr), Fault> {
        let (own, other) = (self.stream.local_addr(), self.stream.peer_addr());
        own.and_then(|own| Ok((own, other?))).map_err(Fault::Control)
    }

    pub(super) fn send(&self, message: &Message) -> Result<(), Fault> {
        (&self.stream).write_all(message.bytes()).map_err(Fault::Control)
    }

    /// Waits for a message; `None` if the time is over before its first byte.
    pub(super) fn receive(&self, within: Duration) -> Result<Option<Message>, Fault> {
        self.read(within, Some(&self.stop))
    }

    /// The same, whatever is requested meanwhile.
    pub(super) fn receive_in_any_case(&self, within: Duration) -> Result<Option<Message>, Fault> {
        self.read(within, None)
    }

    fn read(&self, within: Duration, stop: Option<&Stop>) -> Result<Option<Message>, Fault> {
        let (mut bytes, mut got, mut until) = ([0; Message::LEN], 0, Instant::now() + within);
        while got < bytes.len() {
            match self.stream.read_until(&mut bytes[got..], until, stop) {
                Ok(Got::Stopped) => return Err(Fault::Stopped),
                Ok(Got::Late) => return if got == 0 { Ok(None) } else { Err(Fault::Silent) },
                Ok(Got::Bytes(0)) => return Err(Fault::Closed),
                Ok(Got::Bytes(n)) => {
                    if got == 0 {
                        until = Instant::now() + TAKES;
                    }
                    got += n;
                }
                Err(e) if e.kind() == ErrorKind::ConnectionReset => return Err(Fault::Closed),
                Err(e) => return Err(Fault::Control(e)),
            }
        }
        Ok(Some(Message::received(bytes)))
    }

    /// An error if the other end is gone.
    pub(super) fn look(&self) -> Result<(), Fault> {
        if self.stream.has_ended() { Err(Fault::Closed) } else { Ok(()) }
    }

    /// The same look, for a timer.
    pub(super) fn watch(of: &Arc<Self>) -> Look {
        let of = of.clone();
        Box::new(move || of.look().is_err())
    }

    /// Says that nothing more comes, and waits for the other end to go.
    pub(super) fn close(&self) {
        self.stream.send_no_more();
        let _ = self.receive(TAKES);
    }
}
