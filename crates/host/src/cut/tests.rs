use super::*;
use crate::{Namespace, Rtnetlink};
use std::net::UdpSocket;

/// Runs `run` in a namespace of its own; skips the test with the reason if that is impossible.
fn inside(run: impl FnOnce() + Send) {
    let space = linerate_skip::permitted(Namespace::new(), |e| e.cause == Cause::Capability);
    let _ = space.map(|space| space.run_in(run).unwrap());
}

/// A sink with 10.0.0.1/24; None, with the reason on standard output, if this kernel has none.
fn sink(net: &mut Rtnetlink) -> Option<UdpSocket> {
    linerate_skip::permitted(net.make_sink("sink"), |e| e.cause == Cause::Capability)?;
    net.add_address("sink", [10, 0, 0, 1].into(), 24).unwrap();
    Some(UdpSocket::bind("10.0.0.1:0").unwrap())
}

fn send(socket: &UdpSocket, to: &str, n: usize) -> Vec<Option<i32>> {
    (0..n).map(|_| socket.send_to(&[0; 22], to).err().and_then(|e| e.raw_os_error())).collect()
}

#[test]
fn every_place_on_the_way_out_counts_and_drops() {
    inside(|| {
        let mut net = Rtnetlink::open().unwrap();
        let Some(socket) = sink(&mut net) else { return };
        for place in [Place::LocalOut, Place::PostRouting, Place::TcEgress("sink")] {
            let gone = |net: &mut Rtnetlink| net.link("sink").unwrap().stats.rx_dropped;
            let cut = linerate_skip::permitted(Cut::drop_at(place), |e| e.cause == Cause::Capability);
            let Some(cut) = cut else { continue };
            let before = gone(&mut net);
            send(&socket, "10.0.0.2:9", 5);
            assert_eq!((cut.count().unwrap(), gone(&mut net) - before), (5, 0), "{place:?}");
            drop(cut);
            let cut = Cut::pass_at(place).unwrap();
            assert_eq!(send(&socket, "10.0.0.2:9", 5), [None; 5]);
            assert_eq!((cut.count().unwrap(), gone(&mut net) - before), (5, 5), "{place:?}");
            drop(cut);
            send(&socket, "10.0.0.2:9", 2);
            assert_eq!(gone(&mut net) - before, 7, "{place:?} is free again");
        }
    });
}

#[test]
fn a_blackhole_drops_in_the_queueing_discipline_and_says_so() {
    inside(|| {
        let mut net = Rtnetlink::open().unwrap();
        let Some(socket) = sink(&mut net) else { return };
        net.blackhole("sink", true).unwrap();
        let before = net.queue_drops("sink").unwrap();
        send(&socket, "10.0.0.2:9", 6);
        assert_eq!(net.queue_drops("sink").unwrap() - before, 6);
        assert_eq!(net.link("sink").unwrap().stats.rx_dropped, 0);
        net.blackhole("sink", false).unwrap();
        send(&socket, "10.0.0.2:9", 6);
        assert_eq!(net.link("sink").unwrap().stats.rx_dropped, 6);
    });
}

#[test]
fn an_unreachable_route_is_an_error_to_the_sender() {
    inside(|| {
        let mut net = Rtnetlink::open().unwrap();
        let Some(socket) = sink(&mut net) else { return };
        net.add_unreachable([10, 9, 0, 0].into(), 16).unwrap();
        assert_eq!(send(&socket, "10.9.1.2:9", 2), [Some(libc::EHOSTUNREACH); 2]);
    });
}

#[test]
fn a_link_moves_and_frames_are_counted_behind_it() {
    inside(|| {
        let far = Namespace::new().unwrap();
        let pair = crate::VethPair::new(["near", "far"], 1, 1500).unwrap();
        let mut net = Rtnetlink::open().unwrap();
        let mac = pair.link("far").unwrap().mac.unwrap();
        net.move_to("far", &far).unwrap();
        net.add_address("near", [10, 0, 0, 1].into(), 24).unwrap();
        net.add_neighbour("near", [10, 0, 0, 2].into(), mac).unwrap();
        let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
        let cuts = far.run_in(|| {
            let mut net = Rtnetlink::open().unwrap();
            net.set_up("far", true).unwrap();
            [Cut::drop_at(Place::TcIngress("far")), Cut::pass_at(Place::Xdp("far"))]
        });
        let [ingress, xdp] = match cuts.unwrap() {
            [Ok(ingress), Ok(xdp)] => [ingress, xdp],
            [ingress, xdp] => {
                linerate_skip::skip!("{}", ingress.err().or(xdp.err()).unwrap());
                return;
            }
        };
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !pair.link("near").unwrap().running {
            assert!(std::time::Instant::now() < until, "no carrier");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        send(&socket, "10.0.0.2:9", 4);
        while xdp.count().unwrap() < 4 || ingress.count().unwrap() < 4 {
            assert!(std::time::Instant::now() < until, "{xdp:?} {ingress:?}");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        // What comes meanwhile is counted in XDP first.
        let ingress = ingress.count().unwrap();
        assert!(xdp.count().unwrap() >= ingress);
    });
}

#[test]
fn what_is_not_there_is_named() {
    inside(|| {
        let mut net = Rtnetlink::open().unwrap();
        for e in [
            net.add_address("nosuch", [10, 0, 0, 1].into(), 24).unwrap_err(),
            net.queue_drops("nosuch").unwrap_err(),
            Cut::drop_at(Place::Xdp("nosuch")).unwrap_err(),
        ] {
            let line = e.to_string();
            assert!(line.contains("nosuch") && line.contains("there is no such interface"), "{line}");
        }
    });
}
