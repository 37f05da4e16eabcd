//! Nodes and sockets over cables, stepped by hand or by their own threads.

mod shards;
mod tcp;
mod train;
mod wake;

use super::*;
use crate::machine::Machine;
use linerate_port::Link;
use linerate_stack::{Cidr, Discard, UdpId};
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_secs(30);

fn cidrs() -> [Cidr; 2] {
    ["10.0.0.1/24", "10.0.0.2/24"].map(|text| text.parse().unwrap())
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

/// A client at one end of a cable, all services at the other.
struct Bench {
    client: Node,
    server: Serving,
    now: u64,
}

impl Bench {
    fn new(name: &str, more: &str) -> Self {
        let ports = ["{1", "}1"].map(|end| format!("cable:{name}{end}{more}"));
        let [ours, theirs] = cidrs();
        let nodes = Node::open_all(&[&ports[0], &ports[1]], &[&[ours], &[theirs]], &Options::default()).unwrap();
        let [client, server] = <[Node; 2]>::try_from(nodes).ok().unwrap();
        let services: Vec<_> = SERVICES.iter().map(Offer::from).collect();
        Self { client, server: Serving::new(server, &services).unwrap(), now: 0 }
    }

    /// Answer to a datagram from our port; None if there is none.
    fn answer(&mut self, id: UdpId, to: &str, body: &[u8]) -> Option<Vec<u8>> {
        let (host, mut tx) = self.client.parts();
        host.udp_send(self.now, id, Some(at(to)), body, &mut tx).unwrap();
        self.client.flush(self.now);
        for _ in 0..20 {
            self.now += 1000;
            self.server.handle(self.now);
            self.client.handle(self.now);
        }
        let mut buffer = vec![0; 70_000];
        self.client.ip.host.udp_recv(id, &mut buffer).map(|(n, ..)| buffer[..n].to_vec())
    }
}

#[test]
fn services_answer_but_not_each_other() {
    let mut bench = Bench::new("services", "");
    let id = bench.client.ip.host.udp_bind(at("0.0.0.0:5000")).unwrap();
    assert_eq!(bench.answer(id, "10.0.0.2:7", b"hello").as_deref(), Some(&b"hello"[..]));
    assert_eq!(bench.answer(id, "10.0.0.2:9", b"hello"), None);
    assert_eq!(bench.answer(id, "10.0.0.2:19", b"").unwrap().len(), 74);
    // A datagram that claims to come from a service: an answer would be answered, without end.
    for port in [7, 9, 19] {
        let id = bench.client.ip.host.udp_bind(SocketAddr::new([0; 4].into(), port)).unwrap();
        for service in ["10.0.0.2:7", "10.0.0.2:19"] {
            assert_eq!(bench.answer(id, service, b"forged"), None, "from {port} to {service}");
        }
    }
    let served: Vec<_> = bench.server.served().filter(|(_, served)| served.received > 0).map(|(_, s)| s).collect();
    assert_eq!(served[0], Served { received: 1, refused: 3, sent: 1, unsent: 0 });
    assert_eq!(served[1], Served { received: 1, refused: 0, sent: 0, unsent: 0 });
    assert_eq!(served[2], Served { received: 1, refused: 3, sent: 1, unsent: 0 });
    assert_eq!(bench.server.node().ip.host.counters().unexplained(), 0);
}

/// CERT CA-1996-01: what all hosts answer is a flood to whom the source names, and another service answers without end.
#[test]
fn services_answer_nothing_that_was_sent_to_all_nor_another_service_nor_the_host_itself() {
    let mut bench = Bench::new("toall", "");
    let id = bench.client.ip.host.udp_bind(at("0.0.0.0:5000")).unwrap();
    for service in [7, 9, 19] {
        for all in ["255.255.255.255", "10.0.0.255", "224.0.0.1"] {
            assert_eq!(bench.answer(id, &format!("{all}:{service}"), b"to all"), None, "{all}");
        }
    }
    assert_eq!(bench.answer(id, "10.0.0.2:7", b"to one").as_deref(), Some(&b"to one"[..]));
    // Ports of services that are not ours: daytime, time, the domain name system.
    for port in [13, 37, 53, 1023, 1024] {
        let id = bench.client.ip.host.udp_bind(SocketAddr::new([0; 4].into(), port)).unwrap();
        let answer = bench.answer(id, "10.0.0.2:7", b"from a service");
        assert_eq!(answer.is_some(), port == 1024, "{port}");
    }
    // From the host itself: by a socket of another port of its own.
    let own = bench.server.node.ip.host.udp_bind(at("0.0.0.0:6000")).unwrap();
    let (host, mut tx) = bench.server.node.parts();
    host.udp_send(bench.now, own, Some(at("10.0.0.2:7")), b"to myself", &mut tx).unwrap();
    assert_eq!(bench.answer(id, "10.0.0.2:9", b"discarded"), None);
    let host = &bench.server.node().ip.host;
    assert_eq!(host.udp_waiting(own), 0);
    let served: Vec<_> = bench.server.served().filter(|(_, s)| *s != Served::default()).map(|(_, s)| s).collect();
    assert_eq!(served[0], Served { received: 2, refused: 8, sent: 2, unsent: 0 });
    assert_eq!(served[1], Served { received: 1, refused: 3, sent: 0, unsent: 0 });
    assert_eq!(served[2], Served { received: 0, refused: 3, sent: 0, unsent: 0 });
    assert_eq!((host.counters().discarded(Discard::Broadcast), host.counters().unexplained()), (9, 0));
}

#[test]
fn frames_of_several_slots_arrive_whole() {
    let mut bench = Bench::new("slots", ",mtu=9000,buf=2048");
    let id = bench.client.ip.host.udp_bind(at("0.0.0.0:5000")).unwrap();
    for len in [1, 3000, 8900, 60_000] {
        let body: Vec<u8> = (0..len).map(|i| u8::try_from(i % 251).unwrap()).collect();
        // The first waits for the neighbour.
        assert!(bench.answer(id, "10.0.0.2:7", &body) == Some(body), "{len}");
    }
}

#[test]
fn a_port_carries_no_more_than_its_mtu() {
    let options = Options { mtu: Some(1501), ..Options::default() };
    let refused = Node::open("null:", &cidrs()[..1], &options).err().unwrap().to_string();
    assert!(refused.starts_with("an MTU of 1501 is more than null: carries: give at most 1500"), "{refused}");
}

#[test]
fn a_connected_socket_is_told_that_nobody_listens_while_it_waits() {
    let ports = ["cable:refused{1", "cable:refused}1"];
    let [left, _right] = Net::open_pair(ports, cidrs(), &Options::default()).unwrap();
    let socket = left.udp_bind(at("0.0.0.0:0")).unwrap();
    socket.set_read_timeout(Some(LIMIT));
    socket.connect(at("10.0.0.2:99")).unwrap();
    socket.send(b"anybody?").unwrap();
    let began = Instant::now();
    assert_eq!(socket.recv(&mut [0; 100]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert!(began.elapsed() < LIMIT, "it is woken for that");
    socket.set_read_timeout(Some(Duration::from_millis(1)));
    assert_eq!(socket.recv(&mut [0; 100]).unwrap_err().kind(), ErrorKind::WouldBlock, "it is told once");
}

/// A server has a socket for each client at its one port, beside the one for everybody.
#[test]
fn sockets_of_one_port_have_a_peer_each() {
    let [left, right] = Net::open_pair(["cable:each{1", "cable:each}1"], cidrs(), &Options::default()).unwrap();
    let all = right.udp_bind(at("10.0.0.2:7000")).unwrap();
    let clients = [9001, 9002, 9003].map(|port| left.udp_bind(SocketAddr::new([10, 0, 0, 1].into(), port)).unwrap());
    let each: Vec<_> = (9001..9003)
        .map(|port| right.udp_bind_to(at("10.0.0.2:7000"), SocketAddr::new([10, 0, 0, 1].into(), port)).unwrap())
        .collect();
    let again = right.udp_bind_to(at("10.0.0.2:7000"), at("10.0.0.1:9001"));
    assert_eq!(again.err().map(|e| e.kind()), Some(ErrorKind::AddrInUse));
    assert_eq!(right.udp_bind(at("10.0.0.2:7000")).err().map(|e| e.kind()), Some(ErrorKind::AddrInUse));
    let mut buffer = [0; 9];
    for (at_server, (client, name)) in each.iter().chain([&all]).zip(clients.iter().zip(["a", "b", "c"])) {
        at_server.set_read_timeout(Some(LIMIT));
        client.set_read_timeout(Some(LIMIT));
        client.send_to(name.as_bytes(), at("10.0.0.2:7000")).unwrap();
        let (n, from) = at_server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..n], from), (name.as_bytes(), client.local_addr().unwrap()));
    }
    // Those that are connected answer without an address.
    each[1].send(b"back").unwrap();
    assert_eq!(clients[1].recv_from(&mut buffer).unwrap(), (4, at("10.0.0.2:7000")));
}

#[test]
fn a_host_on_an_adapter_follows_its_settings() {
    use linerate_nic::{Nic, NicConfig};
    let ports = linerate_port::open_all(&["cable:onnic{1", "cable:onnic}1"]).unwrap();
    let nics = ports.into_iter().zip([1, 2]).map(|(port, last)| {
        Nic::new(port, &NicConfig { mac: Some([2, 0, 0, 0, 0, last]), ..NicConfig::default() }).unwrap()
    });
    let mut nodes = nics.zip(cidrs()).map(|(nic, cidr)| Node::single(nic, &[cidr], &Options::default()).unwrap());
    let (client, server) = (nodes.next().unwrap(), nodes.next().unwrap());
    let services: Vec<_> = SERVICES.iter().map(Offer::from).collect();
    let mut bench = Bench { client, server: Serving::new(server, &services).unwrap(), now: 0 };
    let id = bench.client.ip.host.udp_bind(at("0.0.0.0:5000")).unwrap();
    for _ in 0..3 {
        assert_eq!(bench.answer(id, "10.0.0.2:7", b"hello").as_deref(), Some(&b"hello"[..]));
    }
    let control = bench.client.line().control().clone();
    let sent = |what| control.counters(0).unwrap().iter().find(|(name, _)| *name == what).map_or(0, |(_, n)| n);
    assert_eq!(bench.client.ip.host.counters().udp_fast, 1, "the third by the kept header, through the adapter");
    // A probe for its own address, a question for the neighbour, and three datagrams with their answers.
    assert_eq!((sent("tx.frames"), sent("rx.csum_good")), (5, 3));
    let body = vec![7; 1400];
    control.set_parameter(0, "mtu", "600").unwrap();
    let before = sent("tx.frames");
    assert_eq!(bench.answer(id, "10.0.0.2:7", &body).as_deref(), Some(&body[..]));
    assert_eq!(bench.answer(id, "10.0.0.2:7", &body).as_deref(), Some(&body[..]));
    assert_eq!(bench.client.ip.host.mtu(), 600);
    assert!(sent("tx.frames") > before + 3, "the second one went in fragments");
    control.change(0, |vi| vi.up = false).unwrap();
    bench.client.handle(bench.now);
    let (host, mut tx) = bench.client.parts();
    let refused = host.udp_send(bench.now, id, Some(at("10.0.0.2:7")), b"x", &mut tx);
    assert_eq!(refused, Err(linerate_stack::SendError::Down));
    // The far end goes and comes back: the interface is still down.
    let (ip, line) = bench.client.split();
    for link in [Link::Down, Link::Up] {
        ip.set_link(link, &mut IpTx::new(&mut line.tx, 0));
    }
    let (host, mut tx) = bench.client.parts();
    let refused = host.udp_send(bench.now, id, Some(at("10.0.0.2:7")), b"x", &mut tx);
    assert_eq!(refused, Err(linerate_stack::SendError::Down));
}

/// Regression: connections that said nothing were kept until there was no memory.
#[test]
fn services_serve_whoever_speaks_beside_connections_that_say_nothing() {
    let mut bench = Bench::new("crowded", "");
    for silent in ["10.0.0.3/24", "10.0.0.4/24", "10.0.0.5/24"] {
        bench.client.ip.host.add_address(silent.parse().unwrap()).unwrap();
    }
    let turns = |bench: &mut Bench| {
        for _ in 0..10 {
            bench.now += 1000;
            bench.client.handle(bench.now);
            bench.server.handle(bench.now);
        }
    };
    let connect = |bench: &mut Bench, from: &str, n: usize| {
        let from = SocketAddr::new(from.parse().unwrap(), 0);
        let connect =
            |bench: &mut Bench| bench.client.ip.host.tcp_connect(bench.now, Some(from), at("10.0.0.2:7")).unwrap();
        for batch in 0..n.div_ceil(100) {
            let ids: Vec<_> = (0..(n - 100 * batch).min(100)).map(|_| connect(bench)).collect();
            turns(bench);
            if n == 1 {
                return Some(ids[0]);
            }
        }
        None
    };
    connect(&mut bench, "10.0.0.3", 13_000);
    connect(&mut bench, "10.0.0.4", 4_000);
    let honest = connect(&mut bench, "10.0.0.1", 1).unwrap();
    for round in 0..3 {
        let host = &mut bench.client.ip.host;
        assert_eq!(host.tcp_write(honest, b"still here"), Some(10), "round {round}");
        turns(&mut bench);
        assert_eq!(bench.client.ip.host.tcp_read(honest, &mut [0; 100]), Some(10), "round {round}");
        connect(&mut bench, "10.0.0.5", 500);
    }
    let count = bench.server.streamed().map(|(_, count)| count).find(|count| count.connections > 0).unwrap();
    assert_eq!((count.connections, count.refused), (18_501, 18_501 - 16_384));
}

/// Regression: the host saw that its link was down before it looked at what had arrived, and discarded that.
#[test]
fn what_was_sent_before_the_far_end_went_is_received() {
    let mut bench = Bench::new("parting", "");
    let id = bench.client.ip.host.udp_bind(at("0.0.0.0:5000")).unwrap();
    assert_eq!(bench.answer(id, "10.0.0.2:9", b"first"), None);
    let (host, mut tx) = bench.client.parts();
    for _ in 0..10 {
        host.udp_send(bench.now, id, Some(at("10.0.0.2:9")), b"last words", &mut tx).unwrap();
    }
    bench.client.flush(bench.now);
    let Bench { client, mut server, now } = bench;
    drop(client);
    for step in 1..10 {
        server.handle(now + step);
    }
    let received: u64 = server.served().map(|(_, served)| served.received).sum();
    assert_eq!(received, 11, "{:?}", server.node().ip.host.counters());
}

/// Regression: the transmit queue did not leave a pairing that came and went between two turns, so that no peer was let in
/// any more.
#[test]
fn a_peer_that_came_and_went_between_two_turns_is_left_behind() {
    let [ours, theirs] = ["{1", "}1"].map(|end| format!("cable:rt-unseen-{}{end}", std::process::id()));
    let mut node = Node::open(&ours, &cidrs()[..1], &Options::default()).unwrap();
    let mut now = 0;
    for seen in [true, false, true, false, false] {
        let peer = linerate_port::open(&theirs).unwrap_or_else(|e| panic!("after {now} turns: {e}"));
        wait_for(node.line(), Link::Up);
        if seen {
            (0..2).for_each(|turn| assert_eq!(node.handle(now + turn), turn == 0, "one change"));
        }
        drop(peer);
        wait_for(node.line(), Link::Down);
        now += 10;
        while node.handle(now) {}
        assert!(!node.ip.host.has_carrier());
    }
}

fn wait_for(line: &crate::Line, link: Link) {
    let end = Instant::now() + LIMIT;
    while line.link() != link {
        assert!(Instant::now() < end, "the link is not {link:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
