//! The agent: when units are sent, and how long neighbours are kept.

use crate::rig::*;
use linerate_dcb::*;
use linerate_wire::*;

/// Seconds at which a port alone sends, up to a time.
fn seconds(port: &mut Dcb, now: &mut u64, until: u64) -> Vec<u64> {
    run(&mut [port], now, until * SECOND).into_iter().map(|(at, _)| at / SECOND).collect()
}

/// IEEE 802.1AB-2016, clause 9.2.5: msgTxInterval 30, txFastInit 4, msgFastTx 1, txCreditMax 5.
#[test]
fn units_are_sent_by_the_interval_and_fast_for_a_new_neighbour() {
    let (mut port, mut now) = (port(1, Settings::default()), 0);
    assert_eq!(seconds(&mut port, &mut now, 70), [0, 30, 60]);
    port.receive(&frame(2, 1, 10, &[]), now);
    assert_eq!(seconds(&mut port, &mut now, 130), [70, 71, 72, 73, 103]);
    // The same neighbour is none that is new; one that was gone is.
    port.receive(&frame(2, 1, 60, &[]), now);
    assert_eq!(seconds(&mut port, &mut now, 132), [130, 131], "aged out at 80");
    // One more within a fast start is told by the same.
    port.receive(&frame(3, 1, 60, &[]), now);
    assert_eq!(seconds(&mut port, &mut now, 140), [132]);
    port.receive(&frame(3, 1, 0, &[]), now);
    port.receive(&frame(2, 1, 60, &[]), now);
    assert_eq!(seconds(&mut port, &mut now, 170), [162]);
}

#[test]
fn changes_are_told_at_once_as_long_as_there_is_credit() {
    let (mut port, mut now) = (port(1, Settings::default()), 0);
    assert_eq!(seconds(&mut port, &mut now, 10), [0]);
    let mut sent = Vec::new();
    for pfc in 1..=8 {
        port.set(Settings { pfc, ..Settings::default() }, now).unwrap();
        sent.extend(port.poll_transmit(now).into_iter().chain(port.poll_transmit(now)));
    }
    assert_eq!(sent.len(), 5, "txCreditMax");
    let left = run(&mut [&mut port], &mut now, 15 * SECOND);
    assert_eq!(left.iter().map(|(at, _)| at / SECOND).collect::<Vec<_>>(), [11], "the last state, once");
    let unit = Lldpdu::parse(&left[0].1[14..]).unwrap();
    let enabled = unit.tlvs().find_map(|tlv| if let Ok(LldpTlv::Pfc(pfc)) = tlv { Some(pfc.enabled) } else { None });
    assert_eq!((enabled, unit.ttl), (Some(8), 121));
}

#[test]
fn an_end_is_told_once() {
    let (mut port, mut now) = (port(1, Settings::default()), 0);
    run(&mut [&mut port], &mut now, SECOND);
    port.stop();
    assert_eq!(port.poll_timeout(), Some(0));
    let last = port.poll_transmit(now).unwrap();
    let unit = Lldpdu::parse(&last[14..]).unwrap();
    assert_eq!((unit.ttl, unit.tlvs().count(), port.poll_transmit(now), port.poll_timeout()), (0, 0, None, None));
    // Who has told nothing has nothing to end.
    let mut silent = Dcb::new(Config::new(mac(1), ""), Settings::default(), 0).unwrap();
    silent.stop();
    assert_eq!(silent.poll_transmit(now), None);
    let mut silent = self::port(1, Settings::default());
    silent.stop();
    assert_eq!(silent.poll_transmit(now), None);
}

#[test]
fn neighbours_age_and_go_with_the_link() {
    let (mut port, now) = (port(1, Settings { willing: true, ..Settings::default() }), 0);
    port.receive(&frame(2, 1, 10, &[pfc(false, 8), LldpTlv::SystemName(b"switch\x1b")]), now);
    assert_eq!((port.operative().pfc, port.neighbours()[0].ttl), (8, 10));
    port.receive(&frame(2, 1, 20, &[pfc(false, 8), LldpTlv::SystemName(b"switch\x1b")]), 5 * SECOND);
    port.poll_transmit(25 * SECOND - 1);
    assert_eq!((port.operative().pfc, port.neighbours().len()), (8, 1));
    assert!(port.poll_timeout().unwrap() <= 25 * SECOND);
    port.poll_transmit(25 * SECOND);
    assert_eq!((port.operative().pfc, port.neighbours().len(), port.counters().aged_out), (0, 0, 1));
    let lines: Vec<String> = events(&mut port).iter().map(Event::to_string).collect();
    assert_eq!(
        lines,
        [
            "neighbour 02:00:00:00:00:02 port 01: appeared",
            "dcbx ieee; ets: prio-tc 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 tc-tsa 0:strict 1:strict 2:strict 3:strict \
             4:strict 5:strict 6:strict 7:strict; pfc (peer): 3; app: -",
            "neighbour 02:00:00:00:00:02 port 01 (switch\u{fffd}): its time to live is over",
            "dcbx off (no peer); ets: prio-tc 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0 tc-tsa 0:strict 1:strict 2:strict 3:strict \
             4:strict 5:strict 6:strict 7:strict; pfc: -; app: -",
        ]
    );
    port.receive(&frame(2, 1, 10, &[pfc(false, 8)]), 30 * SECOND);
    port.set_link(false, 31 * SECOND);
    assert_eq!((port.operative().pfc, port.neighbours().len(), port.poll_timeout()), (0, 0, None));
    port.receive(&frame(2, 1, 10, &[]), 31 * SECOND);
    assert_eq!(port.neighbours().len(), 0, "a port that is down hears nothing");
}

#[test]
fn a_table_is_printed_in_the_words_of_dcb() {
    let mut settings = san(false);
    settings.applications.push(app(Selector::EtherType, 0, 1));
    settings.applications.push(app(Selector::Stream, 3260, 4));
    let port = port(1, settings);
    assert_eq!(
        port.operative().to_string(),
        "dcbx off (no peer); ets: prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0 tc-tsa 0:ets 1:ets 2:strict 3:strict \
         4:strict 5:strict 6:strict 7:strict tc-bw 0:60 1:40; pfc: 3; app: ethtype 0x8906:3 ethtype 0x8914:3 default:1 \
         stream-port 3260:4"
    );
    assert!(port.operative().lossless(Priority::ALL[3]) && !port.operative().lossless(Priority::ALL[0]));
}

#[test]
fn settings_that_no_peer_may_be_told_are_refused() {
    let refused = |settings: Settings| Dcb::new(Config::new(mac(1), "a"), settings, 0).unwrap_err().to_string();
    let ets = |first, second| Settings { classes: classes(first, second), ..Settings::default() };
    assert_eq!(refused(ets(60, 50)), "tc-bw: the shares of the ets classes sum to 110: they must sum to 100");
    assert_eq!(refused(ets(255, 255)), "tc-bw: the shares of the ets classes sum to 510: they must sum to 100");
    let mut high = Settings::default();
    high.classes.of[5] = 8;
    assert_eq!(refused(high), "prio-tc: priority 5 is of class 8: give 0 to 7");
    let twice = vec![app(Selector::EtherType, 0x8906, 3), app(Selector::EtherType, 0x8906, 4)];
    let twice = Settings { applications: twice, ..Settings::default() };
    assert_eq!(refused(twice), "app: 0x8906 is given two priorities: give one");
    let many = (0..65).map(|n| app(Selector::Stream, n, 3)).collect();
    let many = Settings { applications: many, ..Settings::default() };
    assert_eq!(refused(many), "app: 65 applications: give 64 at most");
    let mut port = port(1, san(false));
    assert!(port.set(ets(1, 1), 0).is_err() && *port.settings() == san(false));
}

/// As many applications as there may be fit a unit of each version.
#[test]
fn the_most_applications_fit() {
    for dcbx in [Dcbx::Ieee, Dcbx::Cee] {
        let applications = (0..64).map(|n| app(Selector::Any, 1000 + n, 3)).collect();
        let (mut a, mut now) = (port(1, Settings { applications, dcbx, ..Settings::default() }), 0);
        let mut b = port(2, Settings { willing: true, dcbx, ..Settings::default() });
        run(&mut [&mut a, &mut b], &mut now, 10 * SECOND);
        assert_eq!(b.operative().applications.len(), 64, "{dcbx:?}");
    }
}
