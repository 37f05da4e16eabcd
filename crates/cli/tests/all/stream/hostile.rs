//! Peers that lie, stall or vanish: each costs its own session, and the server goes on serving others.

use super::{End, client, lines, port, server};
use crate::ends::accepted;
use crate::process::{Ended, LIMIT, Process, until};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::time::Duration;

const COOKIE: [u8; 37] = *b"abcdefghijklmnopqrstuvwxyz234567abcd\0";

// States, by their bytes.
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const EXCHANGE_RESULTS: u8 = 13;
const DISPLAY_RESULTS: u8 = 14;
const DONE: u8 = 16;
const SERVER_ERROR: u8 = 0xfe;
const ACCESS_DENIED: u8 = 0xff;

/// A client without a mind of its own.
struct ScriptedClient {
    port: u16,
    control: TcpStream,
    streams: Vec<TcpStream>,
}

impl ScriptedClient {
    /// Connects, says its cookie, and is asked for parameters.
    fn new(port: u16, cookie: &[u8]) -> Self {
        let mut control = connect(port);
        control.write_all(cookie).unwrap();
        let mut client = Self { port, control, streams: Vec::new() };
        assert_eq!(client.hears(), PARAM_EXCHANGE);
        client
    }

    /// Next byte of the server; panics if it takes too long.
    fn hears(&mut self) -> u8 {
        let mut byte = [0];
        self.control.read_exact(&mut byte).unwrap();
        byte[0]
    }

    fn says(&mut self, bytes: &[u8]) {
        self.control.write_all(bytes).unwrap();
    }

    fn tells(&mut self, json: &str) {
        self.says(&u32::try_from(json.len()).unwrap().to_be_bytes());
        self.says(json.as_bytes());
    }

    /// Goes on until the server waits for streams.
    fn asked(port: u16, cookie: &[u8], json: &str) -> Self {
        let mut client = Self::new(port, cookie);
        client.tells(json);
        assert_eq!(client.hears(), CREATE_STREAMS);
        client
    }

    /// Goes on until data may flow.
    fn running(port: u16, cookie: &[u8]) -> Self {
        let mut client = Self::asked(port, cookie, PARAMETERS);
        client.stream(cookie);
        assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
        client
    }

    fn stream(&mut self, cookie: &[u8]) {
        let mut stream = connect(self.port);
        stream.write_all(cookie).unwrap();
        self.streams.push(stream);
    }

    /// True if the server closes the connection, whatever it says before, and whatever it has not read.
    fn was_left(mut self) -> bool {
        let end = self.control.read_to_end(&mut Vec::new());
        end.is_ok() || end.is_err_and(|e| e.kind() == std::io::ErrorKind::ConnectionReset)
    }
}

const PARAMETERS: &str = r#"{"tcp":true,"omit":0,"time":1,"num":0,"blockcount":0,"parallel":1,"len":1000}"#;

fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

/// Checks that a client is served, who waits no longer than a client does.
fn serves(port: u16) {
    for words in [&["-n", "200K"][..], &["-n", "200K", "-R"], &["-u", "-n", "20K", "-b", "10M", "-l", "1000"]] {
        let client = client(End::Ours, port, words);
        assert_eq!(client.code, Some(0), "{words:?}: {}", client.said());
    }
}

/// Resident memory of a process, KiB.
fn resident(process: &Process) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Regression: a server said of a client that had vanished that its test did not end in time; and after two sessions that went on at
/// once, it announced the same number of a test twice.
#[test]
fn a_client_that_has_vanished_is_named_as_such_and_each_number_of_a_test_is_said_once() {
    let port = port();
    let mut server = server(End::Ours, port, &[]).within(3 * LIMIT);
    let [first, second] = [b'1', b'2'].map(|letter| ScriptedClient::running(port, &[&[letter; 36][..], &[0]].concat()));
    // It says nothing more, and closes nothing.
    for _ in 0..2 {
        server.until("the client has vanished: it has not ended its test, and no data have moved for ");
    }
    drop((first, second));
    server.line_with("(test #3)");
    serves(port);
    server.signal("INT");
    let said = server.end().said();
    assert_eq!(said.matches("has vanished").count(), 2, "{said}");
    // The second one began before the first had ended.
    for (number, times) in [(1, 1), (2, 0), (3, 1), (4, 1), (5, 1)] {
        assert_eq!(said.matches(&format!("(test #{number})")).count(), times, "{number}: {said}");
    }
}

#[test]
fn clients_that_lie_are_left_and_others_are_served() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    // It is served all the while.
    let long = Process::start(End::Ours.command(
        "stream",
        "iperf3",
        &["-c", "127.0.0.1", "-p", &port.to_string(), "-t", "4", "-b", "50M"],
    ));
    // No cookie at all; a part of one.
    drop(connect(port));
    connect(port).write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    // Parameters that are none: the server says so, and leaves.
    let huge = u32::MAX.to_be_bytes();
    for wrong in [
        &huge.to_vec(),
        &[&7_u32.to_be_bytes()[..], b"{\"tcp\":"].concat(),
        &0_u32.to_be_bytes().to_vec(),
        &told(r#"{"tcp":true,"parallel":1000}"#),
        &told(r#"{"tcp":true,"len":-5}"#),
        &told(r#"{"sctp":true}"#),
        &told(r#"{"udp":true,"len":70000}"#),
        &told(r#"{"tcp":true,"server_affinity":1023}"#),
    ] {
        let mut client = ScriptedClient::new(port, &[0xee; 37]);
        client.says(wrong);
        assert_eq!(client.hears(), SERVER_ERROR, "{}", String::from_utf8_lossy(&wrong[..wrong.len().min(60)]));
    }
    server.line_with("unable to receive parameters");
    // States that are none, or not yet.
    for state in [3, 99, TEST_START, DONE, ACCESS_DENIED] {
        let mut client = ScriptedClient::running(port, &COOKIE);
        client.says(&[state]);
        assert!(client.was_left(), "{state}");
    }
    // Results that are none, or of streams that there are not.
    for results in [
        &[&huge[..], b"{}"].concat(),
        &told("{}"),
        &told("no"),
        &told(
            r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":1,
               "streams":[{"id":2,"bytes":1,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}"#,
        ),
    ] {
        let mut client = ScriptedClient::running(port, &COOKIE);
        client.says(&[TEST_END]);
        assert_eq!(client.hears(), EXCHANGE_RESULTS);
        client.says(results);
        assert!(client.was_left(), "{}", String::from_utf8_lossy(results));
    }
    // More streams than were agreed on are closed, and the test goes on.
    let mut client = ScriptedClient::asked(port, &COOKIE, PARAMETERS);
    (0..20).for_each(|_| client.stream(&COOKIE));
    assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
    client.says(&[TEST_END]);
    assert_eq!(client.hears(), EXCHANGE_RESULTS);
    drop(client);
    // Figures of a stream that nobody can have sent.
    let mut client = ScriptedClient::running(port, &COOKIE);
    client.says(&[TEST_END]);
    assert_eq!(client.hears(), EXCHANGE_RESULTS);
    client.tells(
        r#"{"cpu_util_total":1e308,"cpu_util_user":-1,"cpu_util_system":1,"sender_has_retransmits":1e300,"streams":
           [{"id":1,"bytes":1e300,"retransmits":9e18,"jitter":1e308,"errors":1e19,"packets":1e19,"end_time":-1e308}]}"#,
    );
    message(&mut client.control);
    assert_eq!(client.hears(), DISPLAY_RESULTS);
    drop(client);

    serves(port);
    let long = long.end();
    assert_eq!(long.code, Some(0), "{}", long.said());
    assert!(resident(&server) < 200 << 10, "{} KiB", resident(&server));
    server.end_by_signal();
}

fn told(json: &str) -> Vec<u8> {
    [&u32::try_from(json.len()).unwrap().to_be_bytes()[..], json.as_bytes()].concat()
}

#[test]
fn clients_that_stall_or_vanish_at_any_state_cost_only_their_own_session() {
    let port = port();
    let server = server(End::Ours, port, &["--rcv-timeout", "5000"]);
    // More silent connections than have a place, and a stalled session of each kind.
    let silent: Vec<TcpStream> = (0..300).map(|_| connect(port)).collect();
    let udp = PARAMETERS.replace("tcp", "udp");
    let cookie = |n: u8| [n; 37];
    let at_parameters = ScriptedClient::new(port, &cookie(1));
    let in_parameters = {
        let mut client = ScriptedClient::new(port, &cookie(2));
        client.says(&[0, 0, 1, 0, b'{']);
        client
    };
    let at_streams = ScriptedClient::asked(port, &cookie(3), PARAMETERS);
    let before_data = ScriptedClient::running(port, &cookie(4));
    let at_results = {
        let mut client = ScriptedClient::running(port, &cookie(5));
        client.says(&[TEST_END]);
        assert_eq!(client.hears(), EXCHANGE_RESULTS);
        client
    };
    let unread = {
        // It is sent to, and reads nothing.
        let mut client =
            ScriptedClient::asked(port, &cookie(6), &PARAMETERS.replace("\"len\"", "\"reverse\":true,\"len\""));
        client.stream(&cookie(6));
        assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
        client
    };
    serves(port);
    let at_datagrams = ScriptedClient::asked(port, &cookie(7), &udp);
    serves(port);
    // All of them are left within their times.
    for (name, client) in [
        ("parameters", at_parameters),
        ("in the parameters", in_parameters),
        ("streams", at_streams),
        ("datagrams", at_datagrams),
        ("data", before_data),
        ("results", at_results),
        ("unread", unread),
    ] {
        assert!(client.was_left(), "{name}");
    }
    drop(silent);
    // The same states, and gone.
    drop(ScriptedClient::new(port, &cookie(1)));
    drop(ScriptedClient::asked(port, &cookie(2), PARAMETERS));
    drop(ScriptedClient::asked(port, &cookie(3), &udp));
    drop(ScriptedClient::running(port, &cookie(4)));
    let mut client = ScriptedClient::running(port, &cookie(5));
    client.streams[0].write_all(&[7; 5000]).unwrap();
    drop(client);
    let mut client = ScriptedClient::running(port, &cookie(6));
    client.says(&[TEST_END]);
    drop(client);
    serves(port);
    let said = server.end_by_signal();
    for line in ["control socket has closed unexpectedly", "idle timeout for receiving data", "unable to accept stream"]
    {
        assert!(!lines(&said.log, line).is_empty(), "{line}: {}", said.log);
    }
}

/// Tests of datagrams that never open their streams, from the client's own address: all together delay it by less than one of
/// them may take by itself. Each would have 5 s, and a client that waits has 30.
#[test]
fn tests_that_open_no_streams_of_datagrams_do_not_shut_out_others_of_their_address() {
    let port = port();
    let _server = server(End::Ours, port, &[]);
    let udp = PARAMETERS.replace("tcp", "udp");
    let held: Vec<ScriptedClient> = (0..12)
        .map(|n| {
            let mut client = ScriptedClient::new(port, &[n; 37]);
            client.tells(&udp);
            client
        })
        .collect();
    let client = client(End::Ours, port, &["-u", "-P", "2", "-n", "20K", "-b", "10M", "-l", "1000"]);
    assert_eq!(client.code, Some(0), "{}", client.said());
    // The first had its turn, and lost it.
    for (n, mut client) in held.into_iter().enumerate() {
        assert_eq!(client.hears(), CREATE_STREAMS, "{n}");
        assert_eq!(client.hears(), SERVER_ERROR, "{n}");
    }
}

/// A stream of datagrams that somebody else opens in the client's name takes no place from the client's own: those are all
/// answered, and have their data counted in the order in which the client opened them.
#[test]
fn a_stream_that_somebody_else_opens_takes_no_place() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    let two = PARAMETERS.replace("tcp", "udp").replace("\"parallel\":1", "\"parallel\":2");
    let mut client = ScriptedClient::asked(port, &COOKIE, &two);
    let open = || {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        socket.connect(("127.0.0.1", port)).unwrap();
        socket.send(&0x3637_3839_u32.to_ne_bytes()).unwrap();
        assert_eq!(socket.recv(&mut [0; 8]).unwrap(), 4);
        socket
    };
    let (_stray, first) = (open(), open());
    assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
    let second = open();
    for (socket, count) in [(&first, 3_u32), (&second, 5)] {
        for number in 1..=count {
            let mut datagram = [0; 1000];
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            socket.send(&datagram).unwrap();
        }
    }
    server.line_with(&format!("connected to 127.0.0.1 port {}", second.local_addr().unwrap().port()));
    client.says(&[TEST_END]);
    assert_eq!(client.hears(), EXCHANGE_RESULTS);
    client.tells(
        r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":-1,"streams":[
           {"id":1,"bytes":3000,"retransmits":0,"jitter":0,"errors":0,"packets":3},
           {"id":3,"bytes":5000,"retransmits":0,"jitter":0,"errors":0,"packets":5}]}"#,
    );
    let json: serde_json::Value = serde_json::from_slice(&message(&mut client.control)).unwrap();
    let bytes: Vec<&serde_json::Value> =
        json["streams"].as_array().unwrap().iter().map(|stream| &stream["bytes"]).collect();
    assert_eq!(bytes, [3000, 5000]);
    assert_eq!(client.hears(), DISPLAY_RESULTS);
}

/// Datagrams that are none of a test, at the port where streams of datagrams are opened, while a session waits for some and
/// while none does.
#[test]
fn stray_datagrams_open_nothing() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    let mut client = ScriptedClient::asked(port, &COOKIE, &PARAMETERS.replace("tcp", "udp"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let connect = 0x3637_3839_u32.to_ne_bytes();
    let strays = || {
        for datagram in [&connect[..3], &[&connect[..], b"0"].concat(), b"", &[0; 1000], &0x3938_3736_u32.to_ne_bytes()]
        {
            let _ = socket.send_to(datagram, ("127.0.0.1", port));
        }
        assert!(socket.recv(&mut [0; 8]).is_err(), "nobody asked for a stream");
    };
    strays();
    let stream = UdpSocket::bind("127.0.0.1:0").unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream.send_to(&connect, ("127.0.0.1", port)).unwrap();
    let mut answer = [0; 8];
    assert_eq!(stream.recv(&mut answer).unwrap(), 4);
    assert_eq!(answer[..4], 0x3938_3736_u32.to_ne_bytes());
    assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
    strays();
    // A stream that nobody waits for any more.
    drop(client);
    server.line_with("control socket has closed unexpectedly");
    let _ = socket.send_to(&connect, ("127.0.0.1", port));
    assert!(socket.recv(&mut answer).is_err(), "no session wants it");
    serves(port);
}

/// Bytes that the other end of a connection on this machine has not read yet, by the kernel.
fn unread(stream: &TcpStream) -> u64 {
    let ends = [stream.peer_addr(), stream.local_addr()].map(|end| format!(":{:04X}", end.unwrap().port()));
    let all = ["tcp", "tcp6"].map(|file| std::fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap());
    let mut lines = all.iter().flat_map(|text| text.lines()).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let line = lines.find(|words| words[1].ends_with(&ends[0]) && words[2].ends_with(&ends[1])).unwrap();
    u64::from_str_radix(line[4].split_once(':').unwrap().1, 16).unwrap()
}

/// The end of a test comes by another connection than the data: what it has overtaken is waited for.
#[test]
fn data_that_come_behind_the_end_of_the_test_are_taken() {
    let (port, dir) = (port(), tempfile::tempdir().unwrap());
    let file = dir.path().join("file");
    let _server = server(End::Ours, port, &["-F", file.to_str().unwrap()]);
    let mut client = ScriptedClient::running(port, &COOKIE);
    let mut stream = client.streams.remove(0);
    stream.write_all(b"before, ").unwrap();
    client.says(&[TEST_END]);
    // Nothing is written to the control connection before the results.
    until("it has heard that", || unread(&client.control) == 0);
    stream.write_all(b"behind").unwrap();
    drop(stream);
    assert_eq!(client.hears(), EXCHANGE_RESULTS);
    assert_eq!(std::fs::read(&file).unwrap(), b"before, behind");
}

/// Runs our client against a server that does this; its exit code and errors.
fn against(serve: impl FnOnce(TcpStream, &TcpListener) + Send) -> (Option<i32>, String) {
    let client = told_by(&["-t", "1"], serve);
    assert!(!client.out.contains("iperf Done."), "{}", client.said());
    (client.code, client.log)
}

/// Our client with these flags at its end, against a server that does this.
fn told_by(words: &[&str], serve: impl FnOnce(TcpStream, &TcpListener) + Send) -> Ended {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut control = accepted(&listener);
            control.set_read_timeout(Some(LIMIT)).unwrap();
            control.read_exact(&mut [0; 37]).unwrap();
            serve(control, &listener);
        });
        client(End::Ours, port, words)
    })
}

/// A datagram in the client's name with a number that the test cannot have reached is no loss of all before it.
#[test]
fn a_datagram_outside_the_sequence_is_no_loss() {
    let port = port();
    let mut server = server(End::Ours, port, &[]);
    let mut client = ScriptedClient::asked(port, &COOKIE, &PARAMETERS.replace("tcp", "udp"));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(LIMIT)).unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket.send(&0x3637_3839_u32.to_ne_bytes()).unwrap();
    socket.recv(&mut [0; 8]).unwrap();
    assert_eq!((client.hears(), client.hears()), (TEST_START, TEST_RUNNING));
    for number in [1, 2, u32::MAX - 7, 3, u32::MAX / 2, 4] {
        let mut datagram = [0; 1000];
        datagram[8..12].copy_from_slice(&number.to_be_bytes());
        socket.send(&datagram).unwrap();
    }
    client.says(&[TEST_END]);
    assert_eq!(client.hears(), EXCHANGE_RESULTS);
    client.tells(
        r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":-1,"streams":[
           {"id":1,"bytes":4000,"retransmits":0,"jitter":0,"errors":0,"packets":4}]}"#,
    );
    let json: serde_json::Value = serde_json::from_slice(&message(&mut client.control)).unwrap();
    let stream = &json["streams"][0];
    assert_eq!([&stream["bytes"], &stream["errors"], &stream["packets"]], [4000, 0, 4], "{stream}");
    server.line_with("2 datagrams outside the sequence are not counted");
}

/// Reads a message.
fn message(control: &mut TcpStream) -> Vec<u8> {
    let mut length = [0; 4];
    control.read_exact(&mut length).unwrap();
    let mut json = vec![0; u32::from_be_bytes(length).try_into().unwrap()];
    control.read_exact(&mut json).unwrap();
    json
}

/// Leads a client until it sends.
fn to_data(control: &mut TcpStream, listener: &TcpListener) -> TcpStream {
    control.write_all(&[PARAM_EXCHANGE]).unwrap();
    message(control);
    control.write_all(&[CREATE_STREAMS]).unwrap();
    let mut stream = accepted(listener);
    stream.read_exact(&mut [0; 37]).unwrap();
    control.write_all(&[TEST_START, TEST_RUNNING]).unwrap();
    stream
}

#[test]
fn servers_that_lie_or_vanish_are_told_of() {
    for (words, line) in [
        (&[][..], "control socket has closed unexpectedly"),
        (&[99], "received an unknown control message"),
        (&[TEST_RUNNING], "received an unknown control message"),
        (&[ACCESS_DENIED], "the server is busy running a test. try again later"),
        (&[SERVER_ERROR, 0, 0, 0, 202, 0, 0, 0, 98], "unable to start stream listener: Address already in use"),
        (&[SERVER_ERROR, 0, 0, 0, 142], "test authorization failed"),
        (&[11], "the server has terminated"),
    ] {
        let (code, log) = against(|mut control, _| control.write_all(words).unwrap());
        assert!(code == Some(1) && log.contains(&format!("error - {line}")), "{words:?}: {log}");
    }
    let (code, log) = against(|mut control, listener| drop(to_data(&mut control, listener)));
    assert!(code == Some(1) && log.contains("error - "), "{log}");
    // Results that are none.
    let huge = [&u32::MAX.to_be_bytes()[..], b"{}"].concat();
    let other = told(
        r#"{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":-1,
           "streams":[{"id":4,"bytes":1,"retransmits":0,"jitter":0,"errors":0,"packets":0}]}"#,
    );
    for (results, line) in
        [(huge, "unable to receive results"), (told("7"), "unable to receive results"), (other, "invalid id")]
    {
        let (code, log) = against(|mut control, listener| {
            to_results(&mut control, listener, &results);
        });
        assert!(code == Some(1) && log.contains(line), "{log}");
    }
}

/// Leads a client to the end of its test, and answers with these results.
fn to_results(control: &mut TcpStream, listener: &TcpListener, results: &[u8]) {
    let mut stream = to_data(control, listener);
    std::thread::spawn(move || std::io::copy(&mut stream, &mut std::io::sink()));
    let mut state = [0];
    control.read_exact(&mut state).unwrap();
    assert_eq!(state, [TEST_END]);
    control.write_all(&[EXCHANGE_RESULTS]).unwrap();
    message(control);
    let _ = control.write_all(&[results, &[DISPLAY_RESULTS]].concat());
}

/// Regression: a server's words reached the terminal as they were.
#[test]
fn no_word_of_a_server_drives_the_terminal() {
    let hostile = r"\u001b]0;owned\u0007\u001b[2J\u009b2J\u202e";
    for output in [
        format!(r#""server_output_text":"one{hostile}\n\ttwo{hostile}\n""#),
        format!(r#""server_output_json":{{"one{hostile}":"two{hostile}"}}"#),
    ] {
        let results = told(&format!(
            r#"{{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":1,"sender_has_retransmits":-1,
               "congestion_used":"cubic{hostile}",{output},
               "streams":[{{"id":1,"bytes":1,"retransmits":0,"jitter":0,"errors":0,"packets":0}}]}}"#,
        ));
        for form in ["-V", "-J", "--json-stream"] {
            let client = told_by(&["-t", "1", "--get-server-output", form], |mut control, listener| {
                to_results(&mut control, listener, &results);
                // The client's last word.
                let _ = control.read(&mut [0]);
            });
            assert_eq!(client.code, Some(0), "{}", client.said());
            for word in ["cubic", "one", "two"] {
                assert!(client.out.contains(word), "{form} {word}: {}", client.out);
            }
            let drives = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{202e}';
            assert_eq!(client.out.chars().find(drives), None, "{form} {output}: {:?}", client.out);
            // The lines stay lines.
            assert!(form != "-V" || output.contains("json") || client.out.contains("\n\ttwo"), "{}", client.out);
        }
    }
}
