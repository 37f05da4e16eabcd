//! Sessions of byte streams.

use super::session::{Arrived, Session, serve_as};
use super::{ServerState, options};
use crate::iperf::lane::Receiving;
use crate::iperf::protocol::{Ack, Request, Stamp};
use crate::socket::{Got, Socket, TcpListener, TcpStream};
use linerate_rt::{Place, Stop, monotonic_ns, wall};
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time for a client's header, and for an answer to be taken.
const SPEAKS: Duration = Duration::from_secs(4);

/// Waits for a connection, or until there is something else to do, and starts its session.
pub(super) fn accept(
    state: &Arc<ServerState>,
    listener: &TcpListener,
    stop: &Stop,
    wait: Option<Duration>,
) -> Result<(), String> {
    if let Some((stream, from)) = listener.next(stop, wait).map_err(|e| format!("accept failed: {e}"))? {
        let begin = monotonic_ns();
        // Who comes uninvited to a client that awaits its server is sent away.
        if state.only.is_none_or(|only| only.to_canonical() == from.ip()) {
            state.session(from, move |state, place| serve(state, place, stream, begin));
        }
    }
    Ok(())
}

/// A client's request and the number of bytes read; `None` for a client whose data begin at once.
fn head(stream: &TcpStream, stop: &Stop) -> Result<(Option<Request>, usize), String> {
    let until = Instant::now() + SPEAKS;
    let mut header = [0; Request::LONGEST];
    let (mut got, mut length) = (0, Request::FIRST);
    stream.set_polled(SPEAKS).map_err(|e| format!("socket: {e}"))?;
    loop {
        match stream.read_until(&mut header[got..length], until, Some(stop)) {
            Ok(Got::Late) => return Err(format!("it said nothing of its test within {} s", SPEAKS.as_secs())),
            Ok(Got::Stopped) => return Err("it said nothing of its test until it had to go".to_owned()),
            Ok(Got::Bytes(0)) if got == 0 => return Err("it closed its connection before it said anything".to_owned()),
            Ok(Got::Bytes(0)) if got < Request::FIRST => return Ok((None, got)),
            Ok(Got::Bytes(0)) => return Err("it closed its connection within its header".to_owned()),
            Ok(Got::Bytes(n)) => got += n,
            Err(e) => return Err(format!("read failed: {e}")),
        }
        if got == Request::FIRST && length == Request::FIRST {
            let first = [header[0], header[1], header[2], header[3]];
            match Request::length(first).map_err(|refusal| format!("refused: {}", refusal.words()))? {
                Some(whole) => length = whole,
                None => return Ok((None, got)),
            }
        }
        if got == length {
            let request = Request::read(&header[..got]).map_err(|refusal| format!("refused: {}", refusal.words()))?;
            return Ok((Some(request), got));
        }
    }
}

fn serve(state: &Arc<ServerState>, place: &Place, stream: TcpStream, begin: u64) -> Result<(), String> {
    let system = |e: std::io::Error| format!("socket: {e}");
    stream.set_nonblocking(false).map_err(system)?;
    let v6 = stream.local_addr().map_err(system)?.is_ipv6();
    let socket = Arc::new(Socket::Tcp(stream));
    let arrived = Arrived::new(socket.clone())?;
    let Socket::Tcp(stream) = &*socket else { return Ok(()) };
    let (request, before) = if state.only.is_some() { (None, 0) } else { head(stream, place.stop())? };
    let given = request.is_some();
    let request = request.unwrap_or_default();
    let serving = &state.serving;
    options(serving).set_own(stream);
    serve_as(&socket, v6, serving, &request)?;
    if given && request.wants_ack {
        answer(stream, &request)?;
    }
    let timed = request.begun.is_some();
    let session = Session::open((state, place), arrived, begin, request, false);
    session.go(Receiving { timed, before, ..Receiving::new(serving.idle) })
}

fn answer(mut stream: &TcpStream, request: &Request) -> Result<(), String> {
    let now = Stamp::of(wall());
    let answer = Ack::bytes(request.begun.map(|begun| (begun, now)), now);
    let sent = stream.set_write_timeout(Some(SPEAKS)).and_then(|()| stream.write_all(&answer));
    sent.map_err(|e| format!("answer failed: {e}"))
}
