//! Tests of each clause of the RFC, then random events.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

const A: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const B: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 2));
const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);

const ANSWER: Heard = Heard::Advertisement { solicited: true, overrides: false, router: false };
const CLAIM: Heard = Heard::Advertisement { solicited: false, overrides: false, router: false };

fn ip(number: u32) -> IpAddr {
    IpAddr::V4((0x0a00_0000 + number).into())
}

fn mac(number: u32) -> MacAddr {
    let [a, b, c, d] = number.to_be_bytes();
    MacAddr([2, 1, a, b, c, d])
}

fn table() -> Neighbours {
    Neighbours::new(Config { capacity: 16, queue: 3, queue_bytes: 100, seed: 7, ..Config::default() })
}

fn polled(table: &mut Neighbours, now: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    table.poll(now, |action| actions.push(action));
    actions
}

fn state(table: &Neighbours, ip: IpAddr) -> Option<State> {
    table.peek(ip).map(|row| row.state)
}

fn found(table: &mut Neighbours, now: u64, ip: IpAddr) -> (MacAddr, u64) {
    match table.lookup(now, ip) {
        Lookup::Found { mac, generation } => (mac, generation),
        Lookup::Unresolved => panic!("{ip} is not known"),
    }
}

/// A table in which `ip` has just answered.
fn answered(ip: IpAddr) -> Neighbours {
    let mut table = table();
    assert_eq!(table.lookup(0, ip), Lookup::Unresolved);
    assert!(table.learn(0, ip, Some(MAC), Heard::ARP_REPLY).is_empty());
    assert_eq!(state(&table, ip), Some(State::Reachable));
    table
}

/// A table in which `ip` has answered and become STALE.
fn stale(ip: IpAddr) -> (Neighbours, u64) {
    let mut table = answered(ip);
    let now = table.poll_timeout().unwrap();
    assert!(polled(&mut table, now).is_empty());
    assert_eq!(state(&table, ip), Some(State::Stale));
    (table, now)
}

#[test]
fn rfc4861_7_2_2_resolution_asks_three_times_a_second_apart_then_fails() {
    let mut table = table();
    assert_eq!(table.lookup(0, B), Lookup::Unresolved);
    assert_eq!(table.hold(B, vec![1]), Ok(0));
    for second in 0..3 {
        let now = second * SECOND;
        assert_eq!(table.poll_timeout(), Some(now));
        assert_eq!(polled(&mut table, now), [Action::SendRequest { ip: B, unicast: None }]);
        assert!(polled(&mut table, now + SECOND - 1).is_empty(), "one request each RetransTimer");
        assert_eq!(table.lookup(now, B), Lookup::Unresolved);
    }
    assert_eq!(polled(&mut table, 3 * SECOND), [Action::Failed { ip: B, packets: vec![vec![1]] }]);
    assert_eq!((table.len(), table.held_bytes(), table.poll_timeout()), (0, 0, None));
    let Counters { requests, failed, held, held_dropped, .. } = table.counters();
    assert_eq!((requests, failed, held, held_dropped), (3, 1, 1, 0));
}

#[test]
fn rfc1122_2_3_2_1_arp_does_not_flood() {
    let mut table = table();
    let mut requests = 0;
    for millisecond in 0..10_000 {
        let now = millisecond * SECOND / 1000;
        table.lookup(now, A);
        table.poll(now, |action| requests += u32::from(matches!(action, Action::SendRequest { .. })));
    }
    assert!((9..=10).contains(&requests), "{requests} requests in ten seconds, for ten thousand packets");
}

#[test]
fn rfc1122_2_3_2_2_the_latest_packet_is_kept_and_sent_after_the_answer() {
    let mut table = table();
    table.lookup(0, A);
    for number in 0..5 {
        assert_eq!(table.hold(A, vec![number]), Ok(usize::from(number >= 3)));
    }
    let packets = table.learn(1, A, Some(MAC), Heard::ARP_REPLY);
    assert_eq!(packets, [[2], [3], [4]]);
    assert_eq!((table.held_bytes(), table.counters().held_dropped), (0, 2));
}

#[test]
fn held_packets_are_bounded_in_all_and_the_longest_waiting_go_first() {
    let mut table = table();
    for number in 0..4 {
        table.lookup(0, ip(number));
    }
    assert_eq!(table.hold(ip(0), vec![0; 60]), Ok(0));
    assert_eq!(table.hold(ip(1), vec![1; 40]), Ok(0));
    assert_eq!(table.hold(ip(2), vec![2; 50]), Ok(1));
    assert_eq!(table.held_bytes(), 90);
    assert_eq!(table.hold(ip(3), vec![3; 100]), Ok(2));
    assert_eq!(table.hold(ip(3), vec![3; 101]), Err(HoldError::TooLarge));
    assert_eq!(table.held_bytes(), 100);
    assert_eq!(table.hold(ip(9), vec![]), Err(HoldError::NotResolving));
    let mut known = answered(A);
    assert_eq!(known.hold(A, vec![]), Err(HoldError::NotResolving));
}

#[test]
fn rfc4861_7_3_3_a_reachable_neighbour_becomes_stale_and_is_asked_only_when_used() {
    let (mut table, now) = stale(B);
    assert!((15 * SECOND..45 * SECOND).contains(&now), "ReachableTime is random around 30 s");
    assert_eq!(table.poll_timeout(), None);
    assert!(polled(&mut table, now + 1000 * SECOND).is_empty(), "unused, it is not asked");

    let now = now + 1000 * SECOND;
    assert_eq!(found(&mut table, now, B).0, MAC, "a packet is sent at once");
    assert_eq!(state(&table, B), Some(State::Delay));
    assert!(polled(&mut table, now + 5 * SECOND - 1).is_empty());
    for second in 5..8 {
        let probe = Action::SendRequest { ip: B, unicast: Some(MAC) };
        assert_eq!(polled(&mut table, now + second * SECOND), [probe]);
        assert_eq!(state(&table, B), Some(State::Probe));
        assert_eq!(found(&mut table, now, B).0, MAC, "and goes on being sent");
    }
    let failed = Action::Failed { ip: B, packets: vec![] };
    assert_eq!(polled(&mut table, now + 8 * SECOND), [failed]);
    assert_eq!(table.peek(B), None);
}

#[test]
fn rfc4861_7_3_3_the_answer_to_a_probe_confirms() {
    let (mut table, now) = stale(B);
    found(&mut table, now, B);
    polled(&mut table, now + 5 * SECOND);
    assert_eq!(state(&table, B), Some(State::Probe));
    let generation = table.generation();
    table.learn(now + 5 * SECOND, B, Some(MAC), ANSWER);
    assert_eq!(state(&table, B), Some(State::Reachable));
    assert_eq!(table.generation(), generation, "who keeps the mapping need not come back");
}

#[test]
fn rfc4861_7_3_1_acknowledgements_above_confirm() {
    let (mut table, now) = stale(B);
    found(&mut table, now, B);
    table.confirm(now, B);
    assert_eq!(state(&table, B), Some(State::Reachable));
    table.lookup(now, A);
    table.confirm(now, A);
    assert_eq!(state(&table, A), Some(State::Incomplete), "who has no address cannot have answered");
}

#[test]
fn rfc4861_7_2_3_a_solicitation_makes_a_stale_entry() {
    let mut table = table();
    assert!(table.learn(0, B, Some(MAC), Heard::Solicitation).is_empty());
    assert_eq!(state(&table, B), Some(State::Stale));
    assert_eq!(found(&mut table, 0, B).0, MAC);
    // The same address again does not prove that it hears us; another one replaces it.
    let mut table = answered(B);
    table.learn(1, B, Some(MAC), Heard::Solicitation);
    assert_eq!(state(&table, B), Some(State::Reachable));
    table.learn(1, B, Some(OTHER), Heard::Solicitation);
    assert_eq!((state(&table, B), table.peek(B).unwrap().mac), (Some(State::Stale), Some(OTHER)));
}

#[test]
fn rfc4861_appendix_c_a_solicitation_from_whom_we_ask_ends_the_asking() {
    let mut table = table();
    table.lookup(0, B);
    table.hold(B, vec![1]).unwrap();
    assert_eq!(table.learn(0, B, Some(MAC), Heard::Solicitation), [[1]]);
    assert_eq!(state(&table, B), Some(State::Delay), "the held packet is a use");
}

#[test]
fn rfc4861_7_2_5_without_an_entry_an_advertisement_is_dropped() {
    let mut table = table();
    for heard in [ANSWER, CLAIM, Heard::ARP_REPLY, Heard::ARP_GRATUITOUS] {
        table.learn(0, B, Some(MAC), heard);
    }
    assert_eq!((table.len(), table.counters().ignored), (0, 4));
}

#[test]
fn rfc4861_7_2_5_while_incomplete_an_address_is_needed_and_the_flag_o_is_not() {
    let mut table = table();
    table.lookup(0, B);
    table.learn(0, B, None, ANSWER);
    assert_eq!(state(&table, B), Some(State::Incomplete));
    table.learn(0, B, Some(MAC), CLAIM);
    assert_eq!(state(&table, B), Some(State::Stale), "not asked for: known, not confirmed");
    let row = answered(B).peek(B).unwrap();
    assert_eq!((row.state, row.mac, row.router), (State::Reachable, Some(MAC), false));
}

#[test]
fn rfc4861_7_2_5_i_without_o_another_address_only_casts_doubt() {
    let mut table = answered(B);
    found(&mut table, 1, B);
    let generation = table.generation();
    table.learn(1, B, Some(OTHER), CLAIM);
    let row = table.peek(B).unwrap();
    assert_eq!((row.state, row.mac), (State::Stale, Some(MAC)));
    assert_ne!(table.generation(), generation, "the next to use it must come back, so that it is asked");
    // In any other state it does nothing.
    found(&mut table, 1, B);
    table.learn(1, B, Some(OTHER), ANSWER);
    assert_eq!((state(&table, B), table.peek(B).unwrap().mac), (Some(State::Delay), Some(MAC)));
}

#[test]
fn rfc4861_7_2_5_ii_with_o_another_address_replaces() {
    let mut table = answered(B);
    table.learn(1, B, Some(OTHER), Heard::Advertisement { solicited: false, overrides: true, router: false });
    assert_eq!((state(&table, B), table.peek(B).unwrap().mac), (Some(State::Stale), Some(OTHER)));
    table.learn(1, B, Some(MAC), Heard::Advertisement { solicited: true, overrides: true, router: true });
    let row = table.peek(B).unwrap();
    assert_eq!((row.state, row.mac, row.router), (State::Reachable, Some(MAC), true));
    // The same address, not asked for: nothing changes but the flag.
    table.learn(2, B, Some(MAC), CLAIM);
    let row = table.peek(B).unwrap();
    assert_eq!((row.state, row.router), (State::Reachable, false));
    // Asked for, without address: confirmed.
    let (mut table, now) = stale(B);
    table.learn(now, B, None, ANSWER);
    assert_eq!(state(&table, B), Some(State::Reachable));
}

#[test]
fn rfc826_what_is_heard_updates_what_is_known() {
    let mut table = answered(A);
    table.learn(1, A, Some(OTHER), Heard::ARP_GRATUITOUS);
    assert_eq!((state(&table, A), found(&mut table, 1, A).0), (Some(State::Stale), OTHER));
    assert_eq!(table.counters().moved, 1);
}

#[test]
fn rfc1812_3_3_2_no_group_and_no_nobody_is_a_neighbours_address() {
    let mut table = table();
    table.lookup(0, A);
    for bad in [MacAddr::BROADCAST, MacAddr([0x33, 0x33, 0, 0, 0, 1]), MacAddr::UNSPECIFIED] {
        table.learn(0, A, Some(bad), Heard::ARP_REPLY);
        table.learn(0, B, Some(bad), Heard::Solicitation);
    }
    assert_eq!((state(&table, A), table.len(), table.counters().ignored), (Some(State::Incomplete), 1, 6));
}

#[test]
fn the_generation_changes_when_what_was_handed_out_is_over_and_only_then() {
    let changed = |prepare: fn(&mut Neighbours)| {
        let mut table = answered(A);
        let mapping = found(&mut table, 0, A);
        let before = table.generation();
        prepare(&mut table);
        let row = table.peek(A);
        let still = row.is_some_and(|row| (row.mac, row.generation) == (Some(mapping.0), mapping.1));
        (table.generation() != before, still)
    };
    assert_eq!(changed(|t| drop(t.learn(0, A, Some(OTHER), Heard::ARP_REPLY))), (true, false), "moved");
    assert_eq!(changed(|t| assert!(t.remove(A))), (true, false), "removed");
    assert_eq!(changed(Neighbours::flush), (true, false), "flushed");
    assert_eq!(changed(|t| drop(t.insert_permanent(A, OTHER))), (true, false), "configured");
    assert_eq!(changed(|t| drop(polled(t, 60 * SECOND))), (true, true), "not confirmed: to be looked up again");
    assert_eq!(changed(|t| drop(t.learn(0, A, Some(MAC), Heard::ARP_REPLY))), (false, true), "the same again");
    assert_eq!(changed(|t| assert_eq!(t.lookup(0, B), Lookup::Unresolved)), (false, true), "another is asked for");
    assert_eq!(changed(|t| drop(t.learn(0, B, Some(MAC), Heard::Solicitation))), (false, true), "another came");
    // No mapping was handed out, so the generation stays.
    let mut table = answered(A);
    table.flush();
    assert_eq!(table.generation(), 0);
}

#[test]
fn who_sends_from_finished_headers_drives_the_probes_by_the_generation_alone() {
    let mut table = answered(A);
    let mut kept = (table.generation(), found(&mut table, 0, A));
    let (mut lookups, mut probes) = (0_u32, 0_u32);
    // A packet each 10 ms for ten minutes; the neighbour answers every probe.
    for tick in 0..60_000 {
        let now = tick * SECOND / 100;
        for action in polled(&mut table, now) {
            assert_eq!(action, Action::SendRequest { ip: A, unicast: Some(MAC) });
            probes += 1;
            table.learn(now, A, Some(MAC), Heard::ARP_REPLY);
        }
        if table.generation() != kept.0 {
            lookups += 1;
            kept = (table.generation(), found(&mut table, now, A));
        }
    }
    assert!((11..=30).contains(&probes), "{probes}: every ReachableTime and 5 s");
    assert!(lookups.abs_diff(probes) <= 1, "{lookups} look-ups, one for each probe");
}

#[test]
fn permanent_neighbours_are_never_asked_changed_or_pushed_out() {
    let mut table = table();
    table.lookup(0, A);
    table.hold(A, vec![9]).unwrap();
    assert_eq!(table.insert_permanent(A, MAC), Ok(vec![vec![9]]));
    table.learn(0, A, Some(OTHER), Heard::ARP_REPLY);
    table.learn(0, A, Some(OTHER), Heard::Solicitation);
    for number in 10..200 {
        table.learn(0, ip(number), Some(mac(number)), Heard::Solicitation);
    }
    table.flush();
    assert!(polled(&mut table, u64::MAX).is_empty());
    assert_eq!((found(&mut table, 0, A).0, table.len()), (MAC, 1));

    for number in 10..25 {
        assert!(table.insert_permanent(ip(number), MAC).is_ok());
    }
    assert_eq!(table.insert_permanent(ip(99), MAC), Err(TableFull));
    assert_eq!(table.lookup(0, ip(99)), Lookup::Unresolved);
    assert_eq!(table.hold(ip(99), vec![]), Err(HoldError::NotResolving));
    assert!(table.remove(A) && !table.remove(A));
}

#[test]
fn a_flood_of_requests_pushes_out_nobody_who_answered_and_is_used() {
    let mut table = answered(A);
    found(&mut table, 0, A);
    let used = table.peek(A);
    for number in 10..100_000 {
        table.learn(1, ip(number), Some(mac(number)), Heard::Solicitation);
        // As if each had answered too.
        table.lookup(1, ip(number));
    }
    assert_eq!(table.peek(A), used);
    assert_eq!(table.len(), 16);
    // Service goes on: a new neighbour is resolved in the middle of it.
    assert_eq!(table.lookup(2, B), Lookup::Unresolved);
    table.hold(B, vec![5]).unwrap();
    assert!(polled(&mut table, 2).contains(&Action::SendRequest { ip: B, unicast: None }));
    table.learn(3, ip(1), Some(mac(1)), Heard::Solicitation);
    assert_eq!(table.learn(3, B, Some(MAC), ANSWER), [[5]]);
}

#[test]
fn who_never_answered_grows_no_younger_by_speaking_or_being_sent_to() {
    let mut table = table();
    for number in (0..16).chain([0]) {
        table.learn(number.into(), ip(number), Some(mac(number)), Heard::Solicitation);
    }
    assert_eq!(table.len(), 16);
    found(&mut table, 18, ip(0));
    table.lookup(20, ip(50));
    let gone: Vec<_> = (0..16).filter(|number| table.peek(ip(*number)).is_none()).collect();
    assert_eq!(gone, [0]);
}

#[test]
fn a_scan_by_ourselves_pushes_out_only_its_own() {
    // Half of the table answered once and is unused now; a quarter may be given to newcomers.
    let mut table = table();
    for number in 0..8 {
        table.lookup(0, ip(number));
        table.learn(0, ip(number), Some(mac(number)), Heard::ARP_REPLY);
    }
    polled(&mut table, 60 * SECOND);
    for number in 100..10_000 {
        table.lookup(60 * SECOND, ip(number));
    }
    assert!((0..8).all(|number| state(&table, ip(number)) == Some(State::Stale)));
    assert_eq!(table.len(), 16);
}

#[test]
fn new_neighbours_push_out_the_longest_unused() {
    let mut table = table();
    for number in 0..16 {
        table.lookup(0, ip(number));
        table.learn(u64::from(number), ip(number), Some(mac(number)), Heard::ARP_REPLY);
    }
    assert_eq!(table.lookup(20, ip(50)), Lookup::Unresolved);
    assert_eq!((table.peek(ip(50)), table.counters().table_full), (None, 1), "all answered just now");
    polled(&mut table, 60 * SECOND);
    found(&mut table, 60 * SECOND, ip(0));
    for number in 50..54 {
        table.lookup(60 * SECOND, ip(number));
    }
    let gone = (0..16).filter(|&number| table.peek(ip(number)).is_none()).collect::<Vec<_>>();
    assert_eq!(gone, [1, 2, 3, 4], "the first is in use again");
}

/// One event.
#[derive(Debug, Clone)]
enum Event {
    Lookup(u32),
    Hold(u32, usize),
    Learn(u32, Option<u32>, u8),
    Confirm(u32),
    Remove(u32),
    Permanent(u32, u32),
    Flush,
    Wait(u64),
}

fn event() -> impl Strategy<Value = Event> {
    let who = 0..24_u32;
    prop_oneof![
        6 => who.clone().prop_map(Event::Lookup),
        4 => (who.clone(), 0..50_usize).prop_map(|(who, len)| Event::Hold(who, len)),
        8 => (who.clone(), proptest::option::weighted(0.9, 0..4_u32), 0..9_u8).prop_map(|(w, m, k)| Event::Learn(w, m, k)),
        1 => who.clone().prop_map(Event::Confirm),
        1 => who.clone().prop_map(Event::Remove),
        1 => (who, 0..4_u32).prop_map(|(who, mac)| Event::Permanent(who, mac)),
        1 => Just(Event::Flush),
        6 => prop_oneof![0..SECOND, 0..50 * SECOND].prop_map(Event::Wait),
    ]
}

/// Checks that lists and sums agree with the entries.
fn check(table: &Neighbours) {
    let held = table.entries.iter().flat_map(|entry| &entry.queue).map(Vec::len).sum::<usize>();
    assert_eq!(table.held_bytes, held);
    assert!(held <= table.config.queue_bytes && table.len() <= table.config.capacity);
    for (place, entry) in table.entries.iter().enumerate() {
        assert!(entry.queue.len() <= table.config.queue);
        assert_eq!(table.holders.list_of(place).is_some(), !entry.queue.is_empty());
        if !table.is_used(place) {
            assert_eq!(table.timers.list_of(place), None);
            continue;
        }
        assert_eq!(table.find(entry.ip), Some(place));
        let timer = match entry.state {
            State::Incomplete | State::Probe => vec![Some(DUE), Some(ASKED)],
            State::Reachable => vec![Some(REACHABLE)],
            State::Delay => vec![Some(DELAY)],
            State::Stale | State::Permanent => vec![None],
        };
        assert!(timer.contains(&table.timers.list_of(place)), "{entry:?}");
        assert!(entry.queue.is_empty() || entry.state == State::Incomplete);
        let in_use = matches!(entry.state, State::Reachable | State::Delay | State::Probe) && entry.proven;
        let kept = in_use || entry.state == State::Permanent;
        assert_eq!(table.ranks.list_of(place).is_none(), kept, "{entry:?}");
    }
    let places = (0..TIMERS).map(|list| table.timers.len(list)).sum::<usize>();
    assert!(places <= table.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// After any events the table is consistent, no packet is lost uncounted, and a mapping kept under an unchanged
    /// generation is the one in the table.
    #[test]
    fn nothing_kept_is_ever_wrong(events in vec(event(), 1..400), seed: u64) {
        let mut table = Neighbours::new(Config { capacity: 12, queue: 3, queue_bytes: 100, seed, ..Config::default() });
        let mut kept: HashMap<u32, (u64, MacAddr, u64)> = HashMap::new();
        let (mut now, mut given, mut back) = (0_u64, 0, 0);
        for event in events {
            match event {
                Event::Lookup(who) => {
                    if let Lookup::Found { mac, generation } = table.lookup(now, ip(who)) {
                        if let Some((_, old_mac, old)) = kept.get(&who) {
                            prop_assert!(*old != generation || *old_mac == mac, "one generation, one address");
                        }
                        kept.insert(who, (table.generation(), mac, generation));
                    }
                }
                Event::Hold(who, len) => given += u64::from(table.hold(ip(who), vec![0; len]).is_ok()),
                Event::Learn(who, number, kind) => {
                    let heard = match kind {
                        0 => Heard::Solicitation,
                        bits => Heard::Advertisement {
                            solicited: bits & 1 != 0,
                            overrides: bits & 2 != 0,
                            router: bits & 4 != 0,
                        },
                    };
                    let known = table.peek(ip(who)).is_some();
                    back += table.learn(now, ip(who), number.map(mac), heard).len() as u64;
                    prop_assert!(known || heard == Heard::Solicitation || table.peek(ip(who)).is_none());
                }
                Event::Confirm(who) => table.confirm(now, ip(who)),
                Event::Remove(who) => drop(table.remove(ip(who))),
                Event::Permanent(who, number) => {
                    back += table.insert_permanent(ip(who), mac(number)).map_or(0, |held| held.len() as u64);
                }
                Event::Flush => table.flush(),
                Event::Wait(time) => {
                    now += time;
                    table.poll(now, |action| {
                        if let Action::Failed { packets, .. } = action {
                            back += packets.len() as u64;
                        }
                    });
                    prop_assert!(table.poll_timeout().is_none_or(|due| due > now), "polled, nothing is overdue");
                }
            }
            check(&table);
            for (who, (generation, mac, of_entry)) in &kept {
                if *generation == table.generation() {
                    let row = table.peek(ip(*who)).unwrap();
                    prop_assert_eq!((row.mac, row.generation), (Some(*mac), *of_entry), "stale header for {}", who);
                    prop_assert!(row.state != State::Stale, "used, and never asked");
                }
            }
        }
        let waiting = table.iter().map(|row| row.held as u64).sum::<u64>();
        prop_assert_eq!(table.counters().held, given);
        prop_assert_eq!(given, back + table.counters().held_dropped + waiting);
    }
}
