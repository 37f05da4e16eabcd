//! The control connection: states and messages, each within a time, and until a stop is requested.

use super::fault::Fault;
use super::protocol::{Inbox, Malformed, State, framed};
use crate::socket::{Got, TcpStream};
use linerate_rt::Stop;
use serde::Serialize;
use std::io::{ErrorKind, Write};
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

/// Time for the other end to take what is sent to it.
const TAKES: Duration = Duration::from_secs(10);
/// Time for the other end's system to acknowledge it: shorter than any wait for an answer to the end of a test, so that a path
/// which is gone is told as that.
const ACKNOWLEDGES: Duration = Duration::from_secs(30);
/// Bytes of a message that are read at once.
const PIECE: usize = 16 << 10;

pub(super) struct Control {
    stream: TcpStream,
    stop: Stop,
}

impl Control {
    /// Takes a connection, whose waits end when the stop is requested.
    pub(super) fn new(stream: TcpStream, stop: &Stop) -> Result<Self, Fault> {
        Self::acknowledged(stream, stop, ACKNOWLEDGES)
    }

    /// The same, with the kernel's keep-alive if it is asked for.
    pub(super) fn keeping(stream: TcpStream, keep: Option<[Option<u32>; 3]>, stop: &Stop) -> Result<Self, Fault> {
        let kept = keep.map_or(Ok(()), |keep| stream.keep_alive_as(keep));
        kept.map_err(|error| Fault::Option { what: "socket keepalive", code: 155, error })?;
        Self::new(stream, stop)
    }

    /// The same, with the time for the other end's acknowledgements.
    fn acknowledged(stream: TcpStream, stop: &Stop, within: Duration) -> Result<Self, Fault> {
        let set = stream.set_nodelay(true).and_then(|()| stream.set_user_timeout(within));
        set.and_then(|()| stream.set_polled(TAKES)).map_err(Fault::Receive)?;
        Ok(Self { stream, stop: stop.clone() })
    }

    pub(super) fn send(&self, bytes: &[u8]) -> Result<(), Fault> {
        (&self.stream).write_all(bytes).map_err(Fault::Send)
    }

    /// Sends a state.
    pub(super) fn say(&self, state: State) -> Result<(), Fault> {
        self.send(&[state.byte()])
    }

    /// Sends a message.
    pub(super) fn tell(&self, message: &impl Serialize) -> Result<(), Fault> {
        self.send(&framed(message).map_err(Fault::Results)?)
    }

    /// Tells a client why it is refused; it need not listen.
    pub(super) fn refuse(&self, fault: &Fault) {
        let (code, errno) = fault.numbers();
        let words = [&[State::ServerError.byte()][..], &code.to_be_bytes(), &errno.to_be_bytes()].concat();
        let _ = self.send(&words);
    }

    /// Waits for a state; `None` when the time is over.
    pub(super) fn state(&self, within: Duration) -> Result<Option<State>, Fault> {
        let mut byte = [0];
        match self.read(&mut byte, Instant::now() + within)? {
            Some(0) => Err(Fault::Closed),
            Some(_) => State::from_byte(byte[0]).map(Some).ok_or(Fault::Unknown),
            None => Ok(None),
        }
    }

    /// Receives a message of at most so many bytes, whole within this time.
    pub(super) fn message(&self, most: u32, within: Duration, wrong: fn(Malformed) -> Fault) -> Result<Vec<u8>, Fault> {
        let (mut inbox, until) = (Inbox::new(most), Instant::now() + within);
        let mut piece = [0; PIECE];
        loop {
            let wants = inbox.wants().map_err(wrong)?.min(PIECE);
            if wants == 0 {
                return Ok(inbox.json().to_vec());
            }
            match self.read(&mut piece[..wants], until)? {
                Some(0) => return Err(Fault::Closed),
                Some(n) => inbox.take(&piece[..n]),
                None => return Err(wrong(Malformed::Content("it did not come in time".to_owned()))),
            }
        }
    }

    /// Receives two numbers, iperf3's and the system's, behind [`State::ServerError`].
    pub(super) fn refusal(&self, within: Duration) -> Fault {
        let (mut bytes, mut got, until) = ([0; 8], 0, Instant::now() + within);
        while got < bytes.len() {
            match self.read(&mut bytes[got..], until) {
                Ok(Some(n)) if n > 0 => got += n,
                // Some versions send one number.
                _ => break,
            }
        }
        let word = |at: usize| bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).copied().unwrap_or_default();
        Fault::Refused { code: u32::from_be_bytes(word(0)), errno: i32::from_be_bytes(word(4)) }
    }

    /// Reads what there is, until this time; 0 bytes are the end, `None` says that the time is over.
    fn read(&self, to: &mut [u8], until: Instant) -> Result<Option<usize>, Fault> {
        match self.stream.read_until(to, until, Some(&self.stop)) {
            Ok(Got::Bytes(n)) => Ok(Some(n)),
            Ok(Got::Late) => Ok(None),
            Ok(Got::Stopped) => Err(Fault::Stopped),
            Err(e) if e.kind() == ErrorKind::ConnectionReset => Ok(Some(0)),
            Err(e) => Err(Fault::Receive(e)),
        }
    }

    /// Round trip to the other end, as far as it is known.
    pub(super) fn round_trip(&self) -> Duration {
        self.stream.info().map_or(Duration::ZERO, |info| Duration::from_micros(info.rtt))
    }

    /// Descriptor for poll, readable when the other end may have said something, or is gone.
    pub(super) fn readiness(&self) -> Result<BorrowedFd<'_>, Fault> {
        self.stream.readiness().map_err(Fault::Receive)
    }

    /// True if it has, after [`Self::readiness`] was readable.
    pub(super) fn is_readable(&self) -> bool {
        self.stream.is_readable()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_rt::net::{Net, Node, Options};
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    /// Longest time of a test.
    const LIMIT: Duration = Duration::from_secs(30);

    /// Regression: a path that was gone was told as an answer that did not come in time.
    #[test]
    fn what_is_not_acknowledged_is_told_before_an_answer_is_given_up() {
        let ports = ["cable:control-silent{1", "cable:control-silent}1"];
        let cidrs = ["10.0.0.1/24", "10.0.0.2/24"].map(|text| text.parse().unwrap());
        let nodes = Node::open_all(&ports, &[&cidrs[..1], &cidrs[1..]], &Options::default()).unwrap();
        let [near, mut far] = <[Node; 2]>::try_from(nodes).ok().unwrap();
        let server = "10.0.0.2:5201".parse().unwrap();
        far.ip.host.tcp_listen(server, 4).unwrap();
        let (net, connected) = (Net::run(vec![near]).unwrap(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let until = Instant::now() + LIMIT;
                while !connected.load(SeqCst) && Instant::now() < until {
                    far.handle(linerate_rt::monotonic_ns());
                }
            });
            let stream = net.tcp_connect_timeout(server, LIMIT);
            connected.store(true, SeqCst);
            // From here on nobody calls the other end any more; its link stays up.
            let stop = Stop::new().unwrap();
            let stream = TcpStream::Own(stream.unwrap(), 0);
            let control = Control::acknowledged(stream, &stop, Duration::from_millis(300)).unwrap();
            control.say(State::TestEnd).unwrap();
            let told = control.state(LIMIT).unwrap_err().to_string();
            assert_eq!(told, "unable to receive control message: connection timed out");
        });
        // The kernel's connections are told the same.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let control = Control::new(TcpStream::Kernel(stream), &Stop::new().unwrap()).unwrap();
        let fd = control.stream.kernel().unwrap();
        let set = crate::socket::sys::option(fd, libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT).unwrap();
        assert_eq!(set, 30_000);
    }
}
