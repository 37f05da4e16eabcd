//! The tests: one row each.

pub use crate::socket::Transport;
use std::net::SocketAddr;

/// A test, from the client's side.
#[derive(Debug, PartialEq, Eq)]
pub struct Test {
    /// Name, as behind `-t`.
    pub name: &'static str,
    /// Name in the first line of a report.
    pub title: &'static str,
    pub transport: Transport,
    pub sends: bool,
    pub receives: bool,
    /// True if each transaction has a connection of its own.
    pub connects: bool,
    /// True if the data are a file's, sent without a copy.
    pub file: bool,
    pub about: &'static str,
}

/// All tests, in the order of help.
pub const TESTS: &[Test] = &[
    Test {
        name: "TCP_STREAM",
        title: "MIGRATED TCP STREAM TEST",
        transport: Transport::Tcp,
        sends: true,
        receives: false,
        connects: false,
        file: false,
        about: "bytes to the server",
    },
    Test {
        name: "TCP_MAERTS",
        title: "MIGRATED TCP MAERTS TEST",
        transport: Transport::Tcp,
        sends: false,
        receives: true,
        connects: false,
        file: false,
        about: "bytes from the server",
    },
    Test {
        name: "TCP_SENDFILE",
        title: "TCP SENDFILE TEST",
        transport: Transport::Tcp,
        sends: true,
        receives: false,
        connects: false,
        file: true,
        about: "a file's bytes to the server, without a copy",
    },
    Test {
        name: "UDP_STREAM",
        title: "MIGRATED UDP STREAM TEST",
        transport: Transport::Udp,
        sends: true,
        receives: false,
        connects: false,
        file: false,
        about: "datagrams to the server",
    },
    Test {
        name: "TCP_RR",
        title: "MIGRATED TCP REQUEST/RESPONSE TEST",
        transport: Transport::Tcp,
        sends: true,
        receives: true,
        connects: false,
        file: false,
        about: "requests and responses, one at a time",
    },
    Test {
        name: "UDP_RR",
        title: "MIGRATED UDP REQUEST/RESPONSE TEST",
        transport: Transport::Udp,
        sends: true,
        receives: true,
        connects: false,
        file: false,
        about: "the same with datagrams",
    },
    Test {
        name: "TCP_CRR",
        title: "MIGRATED TCP Connect/Request/Response TEST",
        transport: Transport::Tcp,
        sends: true,
        receives: true,
        connects: true,
        file: false,
        about: "the same with a connection for each request",
    },
];

impl Test {
    /// The test of this name, in capitals or not.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        TESTS.iter().find(|test| test.name.eq_ignore_ascii_case(name))
    }

    #[must_use]
    pub fn is_transactions(&self) -> bool {
        self.sends && self.receives
    }
}

/// Family of an address, as reports name it.
pub(super) fn family(of: SocketAddr) -> &'static str {
    if of.is_ipv4() { "AF_INET" } else { "AF_INET6" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_has_a_name_of_its_own_and_moves_data() {
        for test in TESTS {
            assert_eq!(Test::by_name(&test.name.to_lowercase()), Some(test));
            assert!(test.sends || test.receives, "{}", test.name);
        }
        assert_eq!(Test::by_name("TCP_CC"), None);
    }
}
