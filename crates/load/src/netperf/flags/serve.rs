//! The command line of netserver.

use super::state::place;
use crate::flags::own::{self, Hosted};
use crate::flags::{self, Dialect, Does, Flag, Listed, Program, Words, number, print, refused, set, value};
use crate::netperf::settings::PORT;
use crate::socket::{Family, Own, Place};

pub type ServerCommand = flags::Command<ServerConfig>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// Address at which it listens.
    pub place: Place,
    /// Host of our own stack, whose sockets are used instead of the kernel's.
    pub own: Option<Own>,
    pub daemon: bool,
    /// Serves one client after the other.
    pub serially: bool,
    pub verbose: bool,
}

impl Hosted for ServerConfig {
    fn host(&mut self) -> &mut Own {
        self.own.get_or_insert_default()
    }
}

static FLAGS: &[Flag<ServerConfig, ()>] = &[
    value("-p PORT", (), "listen at this port (12865)", |s, v| number(v, 1..=u16::MAX).map(|n| s.place.port = n)),
    set("-D", (), "stay in the terminal", |s| s.daemon = false),
    set("-f", (), "serve one client after the other", |s| s.serially = true),
    value("-L HOST[,FAMILY]", (), "listen at this address; FAMILY is 4 or 6, inet or inet6", |s, v| {
        let (host, family) = place(v)?;
        s.place.bind = host;
        s.place.family = family.or(s.place.family);
        Ok(())
    }),
    set("-4", (), "IPv4 only", |s| s.place.family = Some(Family::V4)),
    set("-6", (), "IPv6 only", |s| s.place.family = Some(Family::V6)),
    set("-N", (), "write no log, even if a client asks for one: as it is without the flag", |_| {}),
    value("-v LEVEL", (), "0 or 1; 2: say each client that fails, with -D (1)", |s, v| {
        number(v, 0..=2).map(|n: u8| s.verbose = n > 1)
    }),
    own::via(()),
    own::addr(()),
    own::route(()),
    own::mtu(()),
    print("-V --version", (), "print the version", super::version),
    print("-h --help", (), "print this", server_help),
    refused("-d", (), "", "there is no log of what the program does; -v 2 says each client that fails"),
    refused("-n", (), "", "processors are counted in /proc/stat; leave it out"),
    refused("-Z", (), "", "a passphrase that all can read protects nothing; leave it out"),
];

static PROGRAM: Program<ServerConfig, ()> =
    Program { name: "netserver", usage: "[flags]", dialect: Dialect::Getopt, flags: FLAGS, width: 100 };

impl ServerConfig {
    /// Parses netserver's command line (without the program's name).
    pub fn parse(arguments: &[String]) -> Result<ServerCommand, String> {
        let place = Place { port: PORT, bind: None, device: None, family: None };
        let mut config = Self { place, own: None, daemon: true, serially: false, verbose: false };
        let mut words = Words::new(arguments);
        while let Some(flag) = PROGRAM.find(&mut words)? {
            if let Does::Print(text) = flag.does {
                return Ok(ServerCommand::Print(text()));
            }
            words.give(flag, &mut config)?;
        }
        config.own = own::host(config.own.take().unwrap_or_default(), &[])?;
        if config.own.is_some() && config.daemon {
            return Err("--via: a host of our own does not leave the terminal; give -D too".to_owned());
        }
        Ok(ServerCommand::Run(Box::new(config)))
    }
}

#[must_use]
pub fn server_help() -> String {
    PROGRAM.help(|()| "")
        + "\nIt leaves the terminal unless -D is given.\nExample: linerate netserver -D -p 12865\n\
           Exit codes: 0 done, 1 it cannot listen, 2 wrong on the command line, 128+n ended by signal n, or the reader of \
           the output is gone (n = 13)\n"
}

/// netserver's flags, for completions.
#[must_use]
pub fn server_listed() -> Vec<Listed> {
    PROGRAM.listed()
}
