//! Flags of the test, which stand behind `--`, in the order of help.

use super::help;
use super::state::{State, first_size, place, sizes};
use crate::flags::{Flag, Words, number, print, refused, set, value, values};
use crate::netperf::report::Form;
use crate::netperf::ring::BLOCK;
use crate::netperf::units::both;
use crate::socket::Family;
use std::time::Duration;

/// Greatest buffer of a socket that can be asked for.
const BUFFER: u32 = i32::MAX.unsigned_abs() / 2;

fn sized(n: u32) -> Option<u32> {
    Some(n).filter(|n| *n > 0)
}

pub(super) static FLAGS: &[Flag<State, ()>] = &[
    value(
        "-m LOCAL[,REMOTE]",
        (),
        "bytes of one call that sends (the socket's buffer); the server's in TCP_MAERTS",
        |s, v| {
            first_size(v, BLOCK, |is_first, n| {
                *if is_first { &mut s.local.send_size } else { &mut s.remote.send_size } = sized(n)
            })
        },
    ),
    value("-M REMOTE[,LOCAL]", (), "bytes of one call that receives (the socket's buffer)", |s, v| {
        first_size(v, BLOCK, |is_first, n| {
            *if is_first { &mut s.remote.receive_size } else { &mut s.local.receive_size } = sized(n);
        })
    }),
    value("-s SEND[,RECEIVE]", (), "buffers of the data socket, bytes (the system's own)", |s, v| {
        let buffers = &mut s.local.buffers;
        sizes(v, BUFFER, |is_first, n| *if is_first { &mut buffers.send } else { &mut buffers.receive } = sized(n))
    }),
    value("-S SEND[,RECEIVE]", (), "buffers of the server's data socket", |s, v| {
        let buffers = &mut s.remote.buffers;
        sizes(v, BUFFER, |is_first, n| *if is_first { &mut buffers.send } else { &mut buffers.receive } = sized(n))
    }),
    value("-r REQUEST[,RESPONSE]", (), "sizes of requests and responses, bytes (1)", |s, v| {
        sizes(v, BLOCK, |is_first, n| *if is_first { &mut s.request } else { &mut s.response } = Some(n))
    }),
    set("-D", (), "no delay for small segments, at both ends", |s| s.no_delay = true),
    value("-P LOCAL[,REMOTE]", (), "ports of the data", |s, v| {
        let (local, remote) = both(v);
        for (to, text) in [(&mut s.local.port, local), (&mut s.remote.port, remote)] {
            if let Some(text) = text {
                *to = number(text, 0..=u16::MAX)?;
            }
        }
        Ok(())
    }),
    value("-K LOCAL[,REMOTE]", (), "congestion control", |s, v| {
        let (local, remote) = both(v);
        for (to, text) in [(&mut s.local.congestion, local), (&mut s.remote.congestion, remote)] {
            if let Some(text) = text {
                text.clone_into(to);
                if text.len() > 15 {
                    return Err("give a name of 15 letters at most".into());
                }
            }
        }
        Ok(())
    }),
    value("-R 0|1", (), "let the data go by a gateway, or do not (1; 0 for UDP_STREAM)", |s, v| {
        number(v, 0..=1).map(|n: u8| s.routing = Some(n > 0))
    }),
    value("-H HOST[,FAMILY]", (), "the server's address for the data (that of the control connection)", |s, v| {
        let (host, family) = place(v)?;
        s.data.0 = host;
        s.place.family = family.or(s.place.family);
        Ok(())
    }),
    value(
        "-L HOST[,FAMILY]",
        (),
        "own address of the data (that of the control connection, if -L gives one before --)",
        |s, v| {
            let (host, family) = place(v)?;
            s.data.1 = host;
            s.place.family = family.or(s.place.family);
            Ok(())
        },
    ),
    set("-n", (), "send datagrams by a connected socket", |s| s.connected = true),
    value("-e SECONDS", (), "time after which a datagram's response is lost (never)", |s, v| {
        number(v, 1..=86_400).map(|n| s.patience = Some(Duration::from_secs(n)))
    }),
    values(
        "-k [NAMES]",
        (),
        "print NAME=VALUE lines; names with commas between them, a file of them, or ? for a list",
        |s, words| select(s, words, Form::Keys),
    ),
    values("-o [NAMES]", (), "print values with commas between them", |s, words| select(s, words, Form::Commas)),
    values("-O [NAMES]", (), "print values in columns", |s, words| select(s, words, Form::Columns)),
    set("-4", (), "IPv4 only, as before --", |s| s.only(Family::V4)),
    set("-6", (), "IPv6 only, as before --", |s| s.only(Family::V6)),
    print("-h --help", (), "print this help", help),
    refused("-a", (), "", "connections are taken in as they come; leave it out"),
    refused("-b", (), "", "there is one request at a time; leave it out"),
    refused("-B", (), "", "addresses of datagrams are not taken from packets; leave it out"),
    refused("-c", (), "", "the test says whether it is one of connections; give -t TCP_CRR"),
    refused("-C", (), "", "segments are not held back (TCP_CORK); leave it out"),
    refused("-d", (), "", "the test says which way the data go; give another test"),
    refused("-F", (), "", "connections are opened without data; leave it out"),
    refused("-g", (), "", "the kernel does not log sockets here; leave it out"),
    refused("-G", (), "", "segments are as large as the system has them; leave it out"),
    refused("-i", (), "", "netperf has no such thing any more; leave it out"),
    refused("-I", (), "", "there is one way to send; leave it out"),
    refused("-j", (), "", "there is one connection at a time; start several programs"),
    refused("-l", (), "", "data to groups are not built; leave it out"),
    refused("-N", (), "", "the server decides how it sends; leave it out"),
    refused("-p", (), "", "each connection has a port of the system's; leave it out"),
    refused("-t", (), "", "the test says the type of its sockets; give another test"),
    refused("-T", (), "", "the test says its protocol; give another test"),
    refused("-u", (), "", "reports have no UUID; leave it out"),
    refused("-U", (), "", "a connection that fails ends the test; leave it out"),
    refused("-V", (), "", "copies are made; give -t TCP_SENDFILE for a test without one"),
    refused("-w", (), "", "sends are not paced here; leave it out"),
    refused("-W", (), "", "give -W before --"),
    refused("--via --addr --route --mtu", (), "", "give it before --"),
];

fn select(s: &mut State, words: &mut Words, form: Form) -> Result<(), String> {
    let names = words.take_if(|word| !word.starts_with('-'));
    s.select(form, names);
    Ok(())
}
