//! Entry to a server: with a login, if one is asked for. No server says which padding it takes, so that one that refuses a
//! login is asked once more, with the next padding.

use super::test;
use crate::Output;
use crate::socket::Site;
use crate::stream::config::{Asked, Config};
use crate::stream::fault::Fault;
use crate::stream::login::Ticket;
use crate::stream::protocol::Padding;
use crate::stream::report::Report;
use linerate_rt::Stop;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Time for a server that has refused a login to take in the next client: iperf3's opens its port anew.
const OPENS: Duration = Duration::from_secs(2);
/// Time between two attempts meanwhile.
const RESTS: Duration = Duration::from_millis(50);

/// Login by one padding.
pub(in crate::stream) struct Pass<'a> {
    ticket: &'a Ticket<'a>,
    padding: Padding,
    /// True once the server has been sent a token.
    shown: Cell<bool>,
}

impl Pass<'_> {
    /// Token of this moment.
    pub(super) fn token(&self) -> Result<String, Fault> {
        self.shown.set(true);
        self.ticket.token(self.padding)
    }
}

/// Runs a test, up to its summary.
pub(super) fn admitted(
    config: &Config,
    asked: &Asked,
    site: &Site,
    stop: &Stop,
    output: &Output,
    report: &mut dyn Report,
) -> Result<(), Fault> {
    let Some(login) = &asked.login else { return test(config, asked, None, site, stop, output, report) };
    let ticket = login.ticket(stop)?;
    let tries = |padding, report: &mut dyn Report| {
        let pass = Pass { ticket: &ticket, padding, shown: Cell::new(false) };
        let tested = test(config, asked, Some(&pass), site, stop, output, report);
        (tested, pass.shown.get())
    };
    let mut paddings = ticket.paddings();
    let Some(first) = paddings.next() else { return Err(Fault::Unknown) };
    let (mut tested, _) = tries(first, report);
    for padding in paddings {
        if !tested.as_ref().is_err_and(Fault::is_unauthorized) {
            break;
        }
        report.detail(&format!("The login was refused; once more, by {padding}"));
        let until = Instant::now() + OPENS;
        tested = loop {
            let (again, shown) = tries(padding, report);
            let deaf = matches!(
                again,
                Err(Fault::Connect(_) | Fault::Closed | Fault::Denied | Fault::Send(_) | Fault::Receive(_))
            );
            if shown || !deaf {
                break again;
            }
            if stop.asked() {
                break Err(Fault::Stopped);
            }
            if Instant::now() > until {
                break tested;
            }
            std::thread::sleep(RESTS);
        };
    }
    tested
}
