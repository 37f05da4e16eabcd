//! Peers that lie, stall or vanish: each costs its own session, and an end says what is wrong in one line.

use super::{End, client, numbers, server};
use crate::ends::accepted;
use crate::process::{LIMIT, Process, until};
use linerate_load::netperf::protocol::omni::{Half, Request, Response, Results, direction, kind};
use linerate_load::netperf::protocol::{Code, Message};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};

fn connect(port: &str) -> TcpStream {
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn hear(stream: &mut TcpStream) -> Message {
    let mut bytes = [0; Message::LEN];
    stream.read_exact(&mut bytes).unwrap();
    Message::received(bytes)
}

/// True if the server serves a client.
fn serves(port: &str) -> bool {
    let ended = client(End::Ours, port, "-P 0 -l -100000");
    ended.code == Some(0) && numbers(&ended.out).len() == 5
}

#[test]
fn clients_that_lie_stall_or_vanish_cost_their_own_session() {
    let (server, port) = server(End::Ours, &["-v", "2"]);
    // Silent, with half a message, with nonsense, with no data; some go, some stay.
    let mut held = Vec::new();
    for at in 0..4 {
        let silent = connect(&port);
        let mut half = connect(&port);
        half.write_all(&Request::stream().message().bytes()[..300]).unwrap();
        let mut nonsense = connect(&port);
        nonsense.write_all(&[0xff; Message::LEN]).unwrap();
        assert_eq!(hear(&mut nonsense).second(), 998);
        let mut idle = connect(&port);
        idle.write_all(Request::stream().message().bytes()).unwrap();
        let ready = Response::read(&hear(&mut idle)).unwrap();
        let data = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
        if at % 2 == 0 {
            held.push((silent, half, nonsense, idle, data));
        }
    }
    assert!(serves(&port));
    // One that asks for bytes and never reads them.
    let mut greedy = connect(&port);
    let endless = Request { direction: direction::SEND, length: 1, ..Request::stream() };
    greedy.write_all(endless.message().bytes()).unwrap();
    let ready = Response::read(&hear(&mut greedy)).unwrap();
    let data = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
    let results = Results::read(&hear(&mut greedy)).unwrap();
    assert!(results.sent > 0 && results.seconds < 30.0, "{results:?}");
    drop(data);
    // One that resets its connection in the middle.
    let mut rude = connect(&port);
    rude.write_all(Request::stream().message().bytes()).unwrap();
    let ready = Response::read(&hear(&mut rude)).unwrap();
    drop(TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap());
    assert_eq!(Results::read(&hear(&mut rude)).unwrap().received, 0);
    assert!(serves(&port));
    server.signal("TERM");
    let ended = server.end();
    assert_eq!(ended.code, Some(143), "{}", ended.said());
    assert!(!ended.said().contains("panicked"), "{}", ended.said());
}

/// A client whose time is over before the server's leaves a response unread, which resets the connection.
#[test]
fn a_client_that_ends_first_with_a_response_unread_is_no_fault() {
    let (server, port) = server(End::Ours, &["-v", "2"]);
    let both = direction::SEND | direction::RECEIVE;
    let transaction = |half: Half| Half { transaction: Some(100), ..half };
    let asks = Request::stream();
    let asks = Request {
        direction: both,
        length: 20,
        send: transaction(asks.send),
        receive: transaction(asks.receive),
        ..asks
    };
    let mut control = connect(&port);
    control.write_all(asks.message().bytes()).unwrap();
    let ready = Response::read(&hear(&mut control)).unwrap();
    let mut data = TcpStream::connect(("127.0.0.1", ready.data_port)).unwrap();
    data.write_all(&[0; 100]).unwrap();
    // A part of the response has come, and the rest is there.
    data.read_exact(&mut [0; 50]).unwrap();
    drop(data);
    let results = Results::read(&hear(&mut control)).unwrap();
    assert_eq!((results.transactions, results.received, results.sent), (1, 100, 100));
    drop(control);
    server.signal("TERM");
    let ended = server.end();
    assert_eq!((ended.code, &*ended.log), (Some(143), ""), "{}", ended.said());
}

#[test]
fn datagrams_of_others_count_for_nothing() {
    let (_server, port) = server(End::Ours, &[]);
    let mut control = connect(&port);
    // A time that does not end the test either.
    let datagrams = Request { socket_type: kind::DATAGRAM, protocol: kind::UDP, length: 50, ..Request::stream() };
    control.write_all(datagrams.message().bytes()).unwrap();
    let at = ("127.0.0.1", Response::read(&hear(&mut control)).unwrap().data_port);
    let [client, other] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
    client.send_to(&[1; 100], at).unwrap();
    other.send_to(&[2; 5000], at).unwrap();
    // Nor do they end the test.
    other.send_to(&[], at).unwrap();
    client.send_to(&[3; 100], at).unwrap();
    client.send_to(&[], at).unwrap();
    let results = Results::read(&hear(&mut control)).unwrap();
    assert_eq!((results.received, results.receives), (200, 2));
}

#[test]
fn more_clients_than_there_are_places_hear_the_end_at_once() {
    let (_server, port) = server(End::Ours, &[]);
    let all: Vec<TcpStream> = (0..70).map(|_| connect(&port)).collect();
    let mut last = all.last().unwrap();
    assert!(matches!(last.read(&mut [0]), Ok(0) | Err(_)));
    drop(all);
    // The places are free again as soon as they have gone.
    until("a client is served", || serves(&port));
}

/// A server that says these bytes to each client, and what a client says of it.
fn told(says: Vec<u8>, words: &str) -> (Option<i32>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let server = std::thread::spawn(move || {
        let mut stream = accepted(&listener);
        let _ = stream.write_all(&says);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let ended = client(End::Ours, &port, words);
    server.join().unwrap();
    (ended.code, ended.log)
}

#[test]
fn a_server_that_lies_is_told_of_in_one_line() {
    let data = TcpListener::bind("127.0.0.1:0").unwrap();
    let data_port = data.local_addr().unwrap().port();
    // A port that takes in whatever comes.
    std::thread::spawn(move || {
        for mut stream in data.incoming().flatten() {
            let _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
    });
    let ready = Response { data_port, ..Response::default() };
    let ready = ready.message().bytes().to_vec();
    let results = Results { seconds: f32::NAN, ..Results::default() }.message().bytes().to_vec();
    let measured = Results::default().message().bytes().to_vec();
    for (says, words, why) in [
        (vec![], "", "closed the control connection"),
        (vec![0; 100], "", "closed the control connection"),
        (Message::new(Code::OMNI_RESPONSE, 95).bytes().to_vec(), "", "remote error 95 "),
        (Message::new(Code::OMNI_RESPONSE, 998).bytes().to_vec(), "", "does not know this test"),
        (vec![0xff; Message::LEN], "", "remote error -1 "),
        (vec![0; Message::LEN], "", "wrong message: a message of kind 0"),
        (ready.clone(), "-C", "did not measure its processors"),
        (Response::default().message().bytes().to_vec(), "", "data connection: "),
        ([&ready[..], &results].concat(), "-l -1000", "wrong message: the time of the test is not a number"),
        ([&ready[..], &measured].concat(), "-l -1000", "nothing was moved"),
        ([&ready[..], &vec![0; Message::LEN]].concat(), "-l -1000", "wrong message: a message of kind 0"),
    ] {
        let (code, log) = told(says, words);
        assert_eq!((code, log.lines().count()), (Some(1), 1), "{why}: {log}");
        assert!(log.starts_with("linerate netperf: ") && log.contains(why), "{why}: {log}");
    }
}

#[test]
fn without_a_server_a_line_says_where_it_was_looked_for() {
    let ended = Process::start(End::Ours.command("netperf", "netperf", &["-H", "127.0.0.1", "-p", "1"])).end();
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.log.starts_with("linerate netperf: are you sure there is a netserver listening on 127.0.0.1 at port 1?")
    );
    let (_server, port) = server(End::Ours, &[]);
    let taken = Process::start(End::Ours.command("netserver", "netserver", &["-D", "-p", &port])).end();
    assert_eq!((taken.code, taken.log.lines().count()), (Some(1), 1), "{}", taken.said());
    assert!(taken.log.starts_with(&format!("linerate netserver: cannot listen at port {port}: ")), "{}", taken.log);
}
