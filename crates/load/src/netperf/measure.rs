//! A test between two ends in this process, whose figures are kept rather than printed.

use super::client::Client;
use super::fault::Fault;
use super::figures::{Figures, Outcome};
use super::server::Server;
use super::settings::Settings;
use crate::socket::{Pair, Uplink};
use crate::turn::Turn;
use linerate_rt::Stop;
use std::sync::{Arc, Mutex, PoisonError};

/// Runs a test with a server of another machine.
pub(super) fn ask(uplink: &Uplink, settings: &Settings, turn: &Turn<'_>, stop: &Stop) -> Result<Figures, String> {
    let tested = Client::connect(settings, &uplink.site, stop).and_then(|client| begin(client, turn, stop));
    tested.map(|outcome| outcome.last).map_err(|fault| fault.to_string())
}

/// Runs the test of a client that is connected, when its turn begins.
fn begin(client: Client<'_>, turn: &Turn<'_>, stop: &Stop) -> Result<Outcome, Fault> {
    turn.wait(stop);
    turn.begins();
    client.run(|| None)
}

/// Runs a test between the hosts of a pair: the first one asks. Processor time is that of each end's threads.
///
/// # Errors
/// One line: the client's reason, or where it sees only the end the server's.
pub(super) fn measure(pair: &Pair, settings: &Settings, turn: &Turn<'_>, stop: &Stop) -> Result<Figures, String> {
    let [client, server] = &pair.sides;
    let over = Stop::new().map_err(|e| e.to_string())?;
    let said = Arc::new(Mutex::new(None));
    let listening = server.run(|| Server::at(server.site.clone()).map(Server::of_threads))?;
    let listening = listening.map_err(|fault| fault.to_string())?;
    std::thread::scope(|scope| {
        let (listening, over, to) = (&listening, &over, said.clone());
        let serving = scope.spawn(move || {
            let log = move |line: &str| *to.lock().unwrap_or_else(PoisonError::into_inner) = Some(line.to_owned());
            server.run(|| listening.run(over, log).map_err(|fault| fault.to_string()))
        });
        let settings =
            Settings { host: server.address.clone(), place: client.site.place().clone(), ..settings.clone() };
        let tested = client.run(|| begin(Client::connect(&settings, &client.site, stop)?.of_threads(), turn, stop));
        over.ask(0);
        let served = serving.join().unwrap_or_else(|_| Err("the server has panicked".to_owned()));
        let outcome = tested?.map_err(|fault| match fault {
            Fault::Closed => {
                let said = said.lock().unwrap_or_else(PoisonError::into_inner).take();
                said.unwrap_or_else(|| fault.to_string())
            }
            fault => fault.to_string(),
        })?;
        served.and_then(|served| served).map(|()| outcome.last)
    })
}
