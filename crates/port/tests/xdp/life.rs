//! A port's life: opening, modes, refusals, sleep, filters, and what is left when it ends.

use crate::*;
use linerate_port::{Filter, Interest, Link, Sleeper};
use std::process::{Command, Stdio};
use std::thread;

#[test]
fn a_queue_is_free_again_as_soon_as_it_is_closed() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for round in 0..20 {
        let mut ports = ports(&ns, &["xdp:va,slots=64", "xdp:vb,slots=64"]);
        let (mut tx, mut rx) = queues(&mut ports);
        exchange(&mut tx, &mut rx, 40 + round, &[60, 1514], 1792);
        // The program stays as long as one queue lives.
        drop(ports);
        exchange(&mut tx, &mut rx, 10, &[60], 1792);
    }
    for name in ["va", "vb"] {
        assert_eq!(pair.link(name).unwrap().xdp_program, None);
    }
}

/// Not a test of its own: what the next one kills.
#[test]
fn holds_a_port_until_killed() {
    if std::env::var_os("LINERATE_TEST_HOLD").is_none() {
        return;
    }
    let port = open("xdp:va").unwrap();
    port.filter(&Filter { promiscuous: true, ..Filter::default() }).unwrap();
    println!("holding");
    thread::sleep(LIMIT);
}

#[test]
fn nothing_stays_when_the_process_is_killed() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut child = ns
        .run_in(|| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "life::holds_a_port_until_killed", "--nocapture"])
                .env("LINERATE_TEST_HOLD", "1")
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        })
        .unwrap();
    until("the child has the port", || {
        thread::sleep(Duration::from_millis(5));
        assert!(child.try_wait().unwrap().is_none(), "the child ended by itself");
        let link = pair.link("va").unwrap();
        link.xdp_program.is_some() && link.promiscuous
    });
    let (cause, line) = refusal(&ns, &["xdp:va"]);
    assert_eq!(cause, Cause::Busy);
    assert!(line.contains("XDP program is attached") && line.contains("ip link set dev va xdp off"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
    let mut ports = ports(&ns, &["xdp:va", "xdp:vb"]);
    let (mut tx, mut rx) = queues(&mut ports);
    exchange(&mut tx, &mut rx, 1000, &[60], 60);
    drop((ports, tx, rx));
    let link = pair.link("va").unwrap();
    assert!(link.xdp_program.is_none() && !link.promiscuous);
}

#[test]
fn a_mode_can_be_forced() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for (mode, word) in [("copy", "native driver, copy"), ("generic", "generic, copy")] {
        let names = [format!("xdp:va,mode={mode}"), format!("xdp:vb,mode={mode}")];
        let mut ports = ports(&ns, &[&names[0], &names[1]]);
        assert!(ports[0].info().path.contains(word), "{}", ports[0].info().path);
        let (mut tx, mut rx) = queues(&mut ports);
        exchange(&mut tx, &mut rx, 10_000, &[60, 1514], 1792);
        nothing_leaked(&mut tx, &mut rx);
    }
    // A veth has no zero-copy.
    let (cause, line) = refusal(&ns, &["xdp:va,mode=zerocopy"]);
    assert!(cause == Cause::Capability && line.contains("mode=zerocopy"), "{line}");
    assert_eq!(pair.link("va").unwrap().xdp_program, None);
    let (cause, line) = refusal(&ns, &["xdp:va,mode=fast"]);
    assert!(cause == Cause::Usage && line.contains("mode=fast"), "{line}");
}

#[test]
fn what_is_wrong_is_named_with_its_mend() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    for (names, cause, word) in [
        (&["xdp:nosuch"][..], Cause::Missing, "no interface 'nosuch'"),
        (&["xdp:a-name-beyond-15-bytes"], Cause::Missing, "no interface"),
        (&["xdp:va,buf=8192"], Cause::Usage, "buf=4096"),
        (&["xdp:va", "null:,buf=8192"], Cause::Usage, "buf=4096"),
        (&["xdp:va,mtu=1501"], Cause::Usage, "ip link set dev va mtu 1501"),
        (&["xdp:va", "xdp:va"], Cause::Busy, "queue of va"),
    ] {
        let (got, line) = refusal(&ns, names);
        assert!(got == cause && line.contains(word), "{line}");
    }
    pair.set_up("va", false).unwrap();
    let off = ports(&ns, &["xdp:va"]).remove(0);
    assert_eq!(off.link(), Link::Down);
    assert!(off.info().notes.iter().any(|note| note.contains("ip link set dev va up")), "{:?}", off.info().notes);
    drop(off);
    pair.set_up("va", true).unwrap();
}

#[test]
fn a_sleeper_wakes_and_the_link_is_told() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let mut ports = ports(&ns, &["xdp:va", "xdp:vb"]);
    let (mut tx, mut rx) = queues(&mut ports);
    assert!(take(&mut rx).is_empty());
    {
        let (fd, interest) = rx.fall_asleep().unwrap().on.unwrap();
        assert_eq!(interest, Interest::Readable);
        assert!(!sys::readable(fd, 0), "nothing has come");
        thread::scope(|scope| {
            scope.spawn(|| {
                put(&mut tx, &frame(0, 60), 60);
                tx.sync();
            });
            assert!(sys::readable(fd, 60_000));
        });
    }
    assert!(rx.fall_asleep().is_none(), "a frame is there");
    rx.wake_up();
    assert_eq!(take(&mut rx), [(frame(0, 60), 1)]);
    drain(&mut tx);
    let sleep = tx.fall_asleep().unwrap();
    assert!(sleep.until.is_none() && sleep.on.is_none(), "nothing to wait for");

    pair.set_up("va", false).unwrap();
    put(&mut tx, &frame(1, 60), 60);
    tx.sync();
    // Each looks for it now and then, and the kernel tells of carriers a little later.
    until("the own link goes", || tx.link() == Link::Down && ports[0].link() == Link::Down);
    until("the far end's carrier goes", || rx.link() == Link::Down && ports[1].link() == Link::Down);
    assert_eq!((tx.ring.in_flight(), tx.counters().frames), (1, 1), "it waits");
    assert!(tx.fall_asleep().unwrap().until.is_some());
    pair.set_up("va", true).unwrap();
    drain(&mut tx);
    until("the carriers come", || tx.link() == Link::Up && ports.iter().all(|port| port.link() == Link::Up));
    until("the frame that waited", || take(&mut rx) == [(frame(1, 60), 1)]);
    drop(pair);
    put(&mut tx, &frame(2, 60), 60);
    tx.sync();
    rx.sync();
    until("the interfaces are gone", || [tx.link(), rx.link(), ports[1].link()] == [Link::Gone; 3]);
}

#[test]
fn a_filter_is_asked_of_the_interface() {
    let Some(ns) = namespace() else { return };
    let pair = veth(&ns, 1, 1500);
    let ports = ports(&ns, &["xdp:va"]);
    assert!(ports[0].info().caps.filters && !pair.link("va").unwrap().promiscuous);
    let all =
        Filter { promiscuous: true, all_multicast: true, addresses: vec![[1, 0, 0x5e, 0, 0, 9], [2, 0, 0, 0, 0, 9]] };
    ports[0].filter(&all).unwrap();
    ports[0].filter(&all).unwrap();
    assert!(pair.link("va").unwrap().promiscuous);
    ports[0].filter(&Filter::default()).unwrap();
    assert!(!pair.link("va").unwrap().promiscuous);
    crate::says_when_it_receives_all(&ports[0], &pair);
}
