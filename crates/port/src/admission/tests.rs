//! Tests of who gives way.

use super::*;
use linerate_sum::SplitMix64;

const SECOND: u64 = 1_000_000_000;

fn of(address: &str) -> Origin {
    address.parse::<IpAddr>().unwrap().into()
}

/// So many clients, each of an origin of its own.
fn strangers(door: &mut Admission, many: u32) -> Vec<Ticket> {
    (0..many).map(|n| door.admit(0, IpAddr::from(n.to_be_bytes()).into()).unwrap().0).collect()
}

#[test]
fn the_oldest_that_has_never_proved_itself_gives_way() {
    let mut door = Admission::new(Limits::new(4));
    let held = strangers(&mut door, 4);
    door.proved(held[0], 0);
    let (late, gone) = door.admit(0, of("9.9.9.9")).unwrap();
    assert_eq!(gone, Some(held[1]));
    assert!(door.leaves(held[1]) && ![held[0], held[2], held[3], late].into_iter().any(|one| door.leaves(one)));
    held.iter().for_each(|one| door.leave(*one));
    assert_eq!(door.count(), 1);
}

#[test]
fn a_proof_holds_for_its_time() {
    let mut door = Admission::new(Limits::new(3).quiet(Duration::from_secs(7)));
    let held = strangers(&mut door, 3);
    held.iter().for_each(|one| door.proved(*one, SECOND));
    assert_eq!(door.admit(8 * SECOND - 1, of("9.9.9.9")), Err(Crowded::Full(3)));
    door.proved(held[0], 8 * SECOND);
    // An older proof takes nothing from a newer one.
    door.proved(held[0], 0);
    let (new, gone) = door.admit(8 * SECOND, of("9.9.9.9")).unwrap();
    assert_eq!(gone, Some(held[1]));
    // The newcomer has not proved itself, and so goes before the one that has.
    assert_eq!(door.admit(8 * SECOND, of("9.9.9.8")).unwrap().1, Some(new));
    assert!(!door.leaves(held[2]));
}

#[test]
fn an_origin_has_three_quarters_and_who_has_most_loses_one() {
    let mut door = Admission::new(Limits::new(8));
    let come = |door: &mut Admission, from: &str| door.admit(0, of(from));
    let here: Vec<Ticket> = (0..6).map(|_| come(&mut door, "10.0.0.1").unwrap().0).collect();
    here.iter().for_each(|one| door.proved(*one, 0));
    assert_eq!(come(&mut door, "::ffff:10.0.0.1"), Err(Crowded::Share(6)));
    // A host of IPv6 has all addresses of its network.
    let there = ["2001:db8::1", "2001:db8::2:3"].map(|from| come(&mut door, from).unwrap().0);
    here.iter().for_each(|one| door.leave(*one));
    let honest = ["10.0.0.2", "10.0.0.4"].map(|from| come(&mut door, from).unwrap().0);
    let more: Vec<Ticket> = (0..4).map(|_| come(&mut door, "2001:db8::4").unwrap().0).collect();
    assert_eq!(come(&mut door, "10.0.0.3").unwrap().1, Some(there[0]));
    assert!(![&more[..], &honest, &there[1..]].concat().into_iter().any(|one| door.leaves(one)));
    // Likewise of those whose proof has lapsed: not the one that was silent for longest.
    let mut door = Admission::new(Limits::new(4));
    let lone = door.admit(0, of("10.0.0.1")).unwrap().0;
    let many = [(); 3].map(|()| door.admit(0, of("10.0.0.2")).unwrap().0);
    door.proved(lone, 0);
    many.iter().zip(1..).for_each(|(one, at)| door.proved(*one, at));
    assert_eq!(door.admit(20 * SECOND, of("10.0.0.3")).unwrap().1, Some(many[0]));
}

#[test]
fn what_silent_ones_have_announced_gives_way_to_newcomers_of_any_origin() {
    let mut door = Admission::new(Limits { weight: 1024, ..Limits::new(64) });
    let heavy: Vec<Ticket> = ["10.0.0.1", "10.0.0.2"]
        .into_iter()
        .flat_map(|from| [from; 4])
        .map(|from| door.admit(0, of(from)).unwrap().0)
        .collect();
    assert!(heavy.iter().all(|one| door.weigh(0, *one, 128) == Some(vec![])));
    // One that does not fit, whoever leaves for it, has nobody leave.
    let [other, same, third] = ["10.0.0.3", "10.0.0.1", "10.0.0.1"].map(|from| door.admit(0, of(from)).unwrap().0);
    assert_eq!(door.weigh(0, other, 1025), None);
    assert_eq!(door.weigh(0, other, 1), Some(vec![heavy[0]]));
    // A light one of the same origin stays when a heavy one comes for which another one has to go.
    assert_eq!(door.weigh(0, same, 1), Some(vec![]));
    assert_eq!(door.weigh(0, third, 128), Some(vec![heavy[4]]));
    assert!(!door.leaves(same) && !door.leaves(other));
}

#[test]
fn an_origin_weighs_three_quarters_and_who_has_proved_itself_stays() {
    let mut door = Admission::new(Limits { weight: 8, ..Limits::new(64) });
    let weighs = |door: &mut Admission, from: &str, weight| {
        let one = door.admit(0, of(from)).unwrap().0;
        (one, door.weigh(0, one, weight))
    };
    let (here, gone) = weighs(&mut door, "10.0.0.1", 6);
    assert_eq!(gone, Some(vec![]));
    door.proved(here, 0);
    assert_eq!(weighs(&mut door, "10.0.0.1", 1).1, None);
    let (there, gone) = weighs(&mut door, "10.0.0.2", 2);
    assert_eq!(gone, Some(vec![]));
    door.proved(there, 0);
    assert_eq!(weighs(&mut door, "10.0.0.3", 1).1, None);
    assert!(!door.leaves(here) && !door.leaves(there));
    // What it weighed is free when it has left.
    door.leave(there);
    assert_eq!(weighs(&mut door, "10.0.0.3", 1).1, Some(vec![]));
}

#[test]
fn those_that_are_to_leave_are_no_more_than_there_are_places() {
    let mut door = Admission::new(Limits::new(2));
    let held = strangers(&mut door, 4);
    assert_eq!([0, 1, 2, 3].map(|n| door.leaves(held[n])), [true, true, false, false]);
    assert!(door.is_leaving());
    assert_eq!(door.admit(0, of("9.9.9.9")), Err(Crowded::Full(2)));
    door.leave(held[0]);
    assert_eq!(door.admit(0, of("9.9.9.9")).unwrap().1, Some(held[2]));
    // Where the system has no descriptors, one has to go although there are places.
    let mut door = Admission::new(Limits::new(8));
    let held = strangers(&mut door, 2);
    door.proved(held[0], 0);
    assert_eq!((door.make_room(0), door.make_room(0)), (Some(held[1]), None));
}

/// Whoever gives way is the one that a look at all of them finds, whatever came before.
#[test]
fn who_gives_way_is_found_as_by_a_look_at_all() {
    for seed in 0..20 {
        let mut random = SplitMix64::new(seed);
        let mut below = |n: u64| random.next_u64() % n;
        let mut door = Admission::new(Limits::new(24));
        let (mut now, mut known, mut gone) = (0, Vec::new(), 0);
        for _ in 0..3000 {
            now += below(QUIET / 8);
            let origin = of(&format!("10.0.0.{}", below(5)));
            match below(16) {
                0..10 => {
                    if let Ok((ticket, one)) = door.admit(now, origin) {
                        known.push(ticket);
                        gone += usize::from(one.is_some());
                        one.filter(|_| below(4) > 0).iter().for_each(|one| door.leave(*one));
                    }
                }
                10..13 if !known.is_empty() => {
                    let ticket = known[usize::try_from(below(known.len() as u64)).unwrap()];
                    door.proved(ticket, now);
                }
                13 | 14 if !known.is_empty() => {
                    let ticket = known.swap_remove(usize::try_from(below(known.len() as u64)).unwrap());
                    door.leave(ticket);
                }
                _ => _ = door.make_room(now),
            }
            for origin in [None, Some(origin)] {
                assert_eq!(door.next(now, origin), door.first(now, origin, |_| 1), "seed {seed}, {origin:?}");
            }
        }
        assert!(gone > 20, "{gone}");
    }
}
