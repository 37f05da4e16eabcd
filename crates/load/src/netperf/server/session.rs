//! A session: the requests of one client, one after the other.

use super::{ServerState, test};
use crate::netperf::control::Control;
use crate::netperf::cpu::{Meter, Reading};
use crate::netperf::fault::Fault;
use crate::netperf::protocol::{Code, Message, omni, stream};
use linerate_rt::Moves;
use std::sync::Arc;
use std::time::Duration;

/// Time for the first request, and for each further one. A client may wait between its setup and its data, but not between
/// two tests.
const BEGINS: Duration = Duration::from_secs(10);
const ASKS: Duration = Duration::from_secs(120);
/// Error number for a request that nobody knows.
const UNKNOWN: i32 = 998;

/// Serves a client until it goes.
pub(super) fn serve(state: &ServerState, moves: &Moves, control: &Arc<Control>) -> Result<(), Fault> {
    let mut within = BEGINS;
    while let Some(message) = control.receive(within)? {
        within = ASKS;
        match message.code() {
            // Nothing is explained here, whoever asks.
            Code::DEBUG_ON | Code::DEBUG_OFF => control.send(&Message::new(Code::DEBUG_OK, 0))?,
            Code::CPU_CALIBRATE => {
                let now = Reading::now(&Meter::System);
                let cpus = now.since(&now).map_or(0, |cpu| cpu.count);
                control.send(&Message::rate(if cpus > 0 { 100.0 } else { 0.0 }, cpus))?;
            }
            Code::SYSINFO => control.send(&Message::system())?,
            Code::PASSPHRASE => {}
            Code::OMNI => {
                let request = omni::Request::read(&message).map_err(Fault::Malformed);
                run(state, moves, control, Code::OMNI_RESPONSE, request, false)?;
            }
            Code::STREAM => {
                let request = stream::Request::read(&message).map_err(Fault::Malformed).map(|r| test::newer(&r));
                run(state, moves, control, Code::STREAM_RESPONSE, request, true)?;
            }
            code => control.send(&Message::new(code, UNKNOWN))?,
        }
    }
    Ok(())
}

/// Runs a test. A client whose test fails is told the system's number of the fault, and the session is over.
fn run(
    state: &ServerState,
    moves: &Moves,
    control: &Arc<Control>,
    answer: Code,
    request: Result<omni::Request, Fault>,
    is_older: bool,
) -> Result<(), Fault> {
    let done = request.and_then(|request| test::run(state, moves, control, &request, is_older));
    done.inspect_err(|fault| {
        if !matches!(fault, Fault::Closed | Fault::Stopped | Fault::Control(_)) {
            let _ = control.send(&Message::new(answer, fault.errno()));
        }
    })
}
