//! Requests and responses, one at a time.

use super::{End, Flow};
use crate::netperf::fault::Fault;
use crate::netperf::ring::Ring;
use crate::netperf::socket::{Listener, TICK};
use crate::socket::{TcpStream, UdpSocket, is_tick};
use linerate_text::cut;
use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

/// Rings of an end: what it sends, and what it receives.
pub(in crate::netperf) struct Rings {
    pub(in crate::netperf) send: Ring,
    pub(in crate::netperf) receive: Ring,
}

/// Ending of one read of a whole request or response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Got {
    Whole,
    /// The other end is done.
    Nothing,
    Time,
}

/// True for the error of a connection that the other end has left.
fn is_gone(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}

impl Flow<'_> {
    /// Reads a whole block.
    #[inline]
    fn read(&mut self, mut stream: &TcpStream, block: &mut [u8]) -> Result<Got, Fault> {
        let mut got = 0;
        while got < block.len() {
            match stream.read(&mut block[got..]) {
                // Whoever wakes this call ends what it waits for.
                Ok(0) => return Ok(if self.time.is_over() { Got::Time } else { Got::Nothing }),
                Ok(n) => {
                    got += n;
                    self.moved();
                    self.tally.received += n as u64;
                    self.tally.receives += 1;
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        return Ok(Got::Time);
                    }
                }
                Err(e) => return Err(Fault::Receive(e)),
            }
        }
        Ok(Got::Whole)
    }

    /// Sends a block whole; false if the time was over before.
    #[inline]
    fn send_whole(&mut self, stream: &TcpStream, block: &[u8]) -> Result<bool, Fault> {
        let sent = self.write(stream, block)?;
        self.tally.sent += sent as u64;
        self.tally.sends += 1;
        Ok(sent == block.len())
    }

    /// Counts a transaction; true if it was the last.
    #[inline]
    fn counted(&mut self) -> bool {
        self.tally.transactions += 1;
        self.publish(self.tally.transactions);
        self.left -= 1;
        self.left == 0
    }

    /// Has reads of a connection block until there is something, or the time is over. A time limit for each would cost a
    /// timer for each, which is a part of a transaction that can be seen.
    fn block(&self, stream: &TcpStream) -> Result<(), Fault> {
        let woken = stream.set_read_timeout(None).and_then(|()| stream.try_clone());
        let woken = woken.map_err(|error| Fault::Option { what: "time limit", error })?;
        self.time.wake_by(move || woken.receive_no_more());
        Ok(())
    }

    /// Sends requests and waits for each response.
    pub(in crate::netperf) fn ask(&mut self, stream: &TcpStream, rings: &mut Rings) -> Result<End, Fault> {
        self.block(stream)?;
        self.begins();
        while !self.time.is_over() {
            if !self.send_whole(stream, rings.send.next())? {
                return Ok(End::Time);
            }
            match self.read(stream, rings.receive.next())? {
                Got::Whole => {}
                Got::Nothing => return Ok(End::Done),
                Got::Time => return Ok(End::Time),
            }
            self.ends();
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Makes a connection for each request; the server closes it behind its response.
    pub(in crate::netperf) fn ask_by_connections(
        &mut self,
        mut connection: impl FnMut() -> Result<Option<TcpStream>, Fault>,
        rings: &mut Rings,
        mut last: impl FnMut(&TcpStream, bool),
    ) -> Result<End, Fault> {
        self.begins();
        let mut first = true;
        while !self.time.is_over() {
            let Some(stream) = connection()? else { return Ok(End::Time) };
            if !self.send_whole(&stream, rings.send.next())? {
                return Ok(End::Time);
            }
            if self.read(&stream, rings.receive.next())? != Got::Whole {
                return Ok(if self.time.is_over() { End::Time } else { End::Done });
            }
            last(&stream, first);
            first = false;
            // The end of the connection belongs to the transaction.
            match self.read(&stream, &mut [0])? {
                Got::Nothing => {}
                Got::Whole => return Err(Fault::Receive(ErrorKind::InvalidData.into())),
                Got::Time => return Ok(End::Time),
            }
            self.ends();
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Answers each request of a connection.
    ///
    /// A client whose time is over leaves its last response unread, and the connection is reset. By the client's clock,
    /// that is: this end's own may have begun later, so that the reset is no fault before this end is due either. A client
    /// that is gone is told of by the control connection.
    pub(in crate::netperf) fn answer(&mut self, stream: &TcpStream, rings: &mut Rings) -> Result<End, Fault> {
        self.block(stream)?;
        while !self.time.is_over() {
            match self.read(stream, rings.receive.next()) {
                Ok(Got::Whole) => {}
                Ok(Got::Nothing) => return Ok(End::Done),
                Ok(Got::Time) => return Ok(End::Time),
                Err(Fault::Receive(e)) if is_gone(&e) => return Ok(End::Done),
                Err(fault) => return Err(fault),
            }
            match self.send_whole(stream, rings.send.next()) {
                Ok(true) => {}
                Ok(false) => return Ok(End::Time),
                Err(Fault::Send(e)) if is_gone(&e) => return Ok(End::Done),
                Err(fault) => return Err(fault),
            }
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Takes in the next connection; `None` if the time was over before. Those of others are closed.
    pub(in crate::netperf) fn accept(&mut self, listener: &Listener) -> Result<Option<TcpStream>, Fault> {
        loop {
            match listener.accept() {
                Ok((stream, from)) if self.admits(from) => {
                    self.has_come();
                    self.moved();
                    return Ok(Some(stream));
                }
                Ok(_) if self.time.is_over() => return Ok(None),
                Ok(_) => {}
                Err(e) if is_tick(&e) => {
                    if self.tick()? {
                        return Ok(None);
                    }
                }
                Err(e) if e.kind() == ErrorKind::ConnectionAborted => {}
                Err(e) => return Err(Fault::DataConnect(e)),
            }
        }
    }

    /// Answers one request of each connection, and closes it.
    pub(in crate::netperf) fn answer_by_connections(
        &mut self,
        listener: &Listener,
        rings: &mut Rings,
    ) -> Result<End, Fault> {
        while !self.time.is_over() {
            let Some(stream) = self.accept(listener)? else { return Ok(End::Time) };
            // A client that has no more time closes a connection without a request.
            match self.read(&stream, rings.receive.next()) {
                Ok(Got::Whole) => {}
                Ok(Got::Nothing) | Err(Fault::Receive(_)) => continue,
                Ok(Got::Time) => return Ok(End::Time),
                Err(fault) => return Err(fault),
            }
            match self.send_whole(&stream, rings.send.next()) {
                Ok(true) => {}
                Ok(false) => return Ok(End::Time),
                Err(Fault::Send(_)) => continue,
                Err(fault) => return Err(fault),
            }
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Receives datagrams until a block is full; those of another sender are dropped.
    #[inline]
    fn take(
        &mut self,
        socket: &UdpSocket,
        block: &mut [u8],
        sender: &mut Option<SocketAddr>,
        ticks: u32,
    ) -> Result<Got, Fault> {
        let mut got = 0;
        self.moved();
        loop {
            match socket.recv_from(&mut block[got..]) {
                Ok((_, from)) if !self.is_of(sender, from) => {
                    if self.time.is_over() {
                        return Ok(Got::Time);
                    }
                }
                Ok((0, _)) => return Ok(Got::Nothing),
                Ok((n, _)) => {
                    got += n;
                    self.has_come();
                    self.moved();
                    self.tally.received += n as u64;
                    self.tally.receives += 1;
                    if got == block.len() {
                        return Ok(Got::Whole);
                    }
                }
                Err(e) if is_tick(&e) => {
                    if self.tick()? || self.quiet >= ticks {
                        return Ok(Got::Time);
                    }
                }
                Err(e) => return Err(Fault::Receive(e)),
            }
        }
    }

    /// Sends requests in datagrams and waits for each response. One that does not come in `patience` is lost, and so is
    /// its transaction; without patience it is waited for.
    pub(in crate::netperf) fn ask_by_datagrams(
        &mut self,
        socket: &UdpSocket,
        rings: &mut Rings,
        server: SocketAddr,
        connected: bool,
        patience: Option<Duration>,
    ) -> Result<End, Fault> {
        let tick = TICK.as_millis();
        let ticks = patience.map_or(u32::MAX, |time| cut(time.as_millis().div_ceil(tick), u32::MAX));
        let to = (!connected).then_some(server);
        let mut from = Some(server);
        self.begins();
        while !self.time.is_over() {
            if self.put(socket, rings.send.next(), to)?.is_none() {
                return Ok(End::Time);
            }
            match self.take(socket, rings.receive.next(), &mut from, ticks)? {
                Got::Whole => {}
                Got::Nothing => return Ok(End::Done),
                Got::Time => {
                    self.begins();
                    continue;
                }
            }
            self.ends();
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }

    /// Answers each request of the first sender.
    pub(in crate::netperf) fn answer_datagrams(&mut self, socket: &UdpSocket, rings: &mut Rings) -> Result<End, Fault> {
        let mut sender = None;
        while !self.time.is_over() {
            match self.take(socket, rings.receive.next(), &mut sender, u32::MAX)? {
                Got::Whole => {}
                Got::Nothing => return Ok(End::Done),
                Got::Time => return Ok(End::Time),
            }
            if self.put(socket, rings.send.next(), sender)?.is_none() {
                return Ok(End::Time);
            }
            if self.counted() {
                return Ok(End::Done);
            }
        }
        Ok(End::Time)
    }
}
