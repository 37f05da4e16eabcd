//! Tests of who gives way.

use super::*;

const SECOND: u64 = 1_000_000_000;

fn of(address: &str) -> Origin {
    address.parse::<IpAddr>().unwrap().into()
}

/// So many clients, each of an origin of its own.
fn strangers(door: &mut Admission, many: u32) -> Vec<Ticket> {
    (0..many).map(|n| door.admit(0, IpAddr::from(n.to_be_bytes()).into()).unwrap().0).collect()
}

#[test]
fn one_that_has_never_proved_itself_gives_way() {
    let mut door = Admission::new(Limits::new(4));
    let held = strangers(&mut door, 4);
    door.proved(held[0], 0);
    let (late, gone) = door.admit(0, of("9.9.9.9")).unwrap();
    let gone = gone.unwrap();
    assert!(held[1..].contains(&gone));
    assert!([&held[..], &[late]].concat().into_iter().all(|one| door.leaves(one) == (one == gone)));
    held.iter().for_each(|one| door.leave(*one));
    assert_eq!(door.count(), 1);
}

#[test]
fn a_proof_holds_for_its_time() {
    let mut door = Admission::new(Limits::new(3).quiet(Duration::from_secs(7)));
    let held = strangers(&mut door, 3);
    held.iter().zip([0, 0, 1]).for_each(|(one, later)| door.proved(*one, SECOND + later));
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
    let gone = come(&mut door, "10.0.0.3").unwrap().1.unwrap();
    let crowd = [&more[..], &there].concat();
    assert!(
        crowd.contains(&gone) && ![&crowd[..], &honest].concat().into_iter().any(|one| one != gone && door.leaves(one))
    );
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
    let [gone] = door.weigh(0, other, 1).unwrap()[..] else { panic!() };
    let (here, there) = heavy.split_at(4);
    let full = if here.contains(&gone) { there } else { here };
    // A light one of the same origin stays when a heavy one comes for which another one has to go.
    assert_eq!(door.weigh(0, same, 1), Some(vec![]));
    let [next] = door.weigh(0, third, 128).unwrap()[..] else { panic!() };
    assert!(heavy.contains(&gone) && full.contains(&next));
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
    let (gone, stay): (Vec<_>, Vec<_>) = strangers(&mut door, 4).into_iter().partition(|one| door.leaves(*one));
    assert_eq!((gone.len(), door.is_leaving()), (2, true));
    assert_eq!(door.admit(0, of("9.9.9.9")), Err(Crowded::Full(2)));
    door.leave(gone[0]);
    assert!(stay.contains(&door.admit(0, of("9.9.9.9")).unwrap().1.unwrap()));
    // Where the system has no descriptors, one has to go although there are places.
    let mut door = Admission::new(Limits::new(8));
    let held = strangers(&mut door, 2);
    door.proved(held[0], 0);
    assert_eq!((door.make_room(0), door.make_room(0)), (Some(held[1]), None));
}

/// Round trips that a client needs to prove itself, in which those of a crowd who were sent away come again.
const TRIPS: usize = 3;

/// True if a client is let be until it has proved itself, of whose origin `away` more come again with each round trip than it has
/// places. `admit` lets one in, and tells who has to leave.
fn is_let_be(mut admit: impl FnMut() -> (Ticket, Option<Ticket>), mut away: usize) -> bool {
    let (honest, _) = admit();
    away += 1;
    for _ in 0..TRIPS {
        let gone: Vec<Ticket> = (0..away).filter_map(|_| admit().1).collect();
        if gone.contains(&honest) {
            return false;
        }
        away = gone.len();
    }
    true
}

/// Per cent of clients that are let be, each at a door whose share is taken: where one drawn by lot gives way, and where it were the
/// oldest.
fn let_be(away: usize) -> [u64; 2] {
    const TRIES: u64 = 1000;
    let share = Limits::new(16).share;
    let by_lot = |seed: &u64| {
        let mut door = Admission::new(Limits::new(16));
        door.lots.0 = *seed;
        let mut admit = || {
            let (new, gone) = door.admit(0, of("10.0.0.1")).unwrap();
            gone.into_iter().for_each(|one| door.leave(one));
            (new, gone)
        };
        (0..share).map(|_| admit()).for_each(|_| {});
        is_let_be(admit, away)
    };
    let by_age = |_: &u64| {
        let (mut held, mut last) = (std::collections::VecDeque::new(), 0);
        let mut admit = || {
            last += 1;
            held.push_back(Ticket(last));
            (Ticket(last), if held.len() > share { held.pop_front() } else { None })
        };
        (0..share).map(|_| admit()).for_each(|_| {});
        is_let_be(admit, away)
    };
    let per_cent = |count: usize| count as u64 * 100 / TRIES;
    [per_cent((0..TRIES).filter(by_lot).count()), per_cent((0..TRIES).filter(by_age).count())]
}

/// Regression: the oldest gave way, so that a crowd of one's own address that comes again at once shut out everybody.
#[test]
fn a_crowd_that_comes_again_at_once_shuts_out_nobody_for_good() {
    // Of 12 places, 27 come while one proves itself: (11/12)^27 are let be, and who tries again gets in.
    let [lot, age] = let_be(8);
    assert!((7..=12).contains(&lot) && age == 0, "{lot} {age}");
    // The price: of a crowd of less, nine that come, age tells better: (11/12)^9.
    let [lot, age] = let_be(2);
    assert!((41..=50).contains(&lot) && age == 100, "{lot} {age}");
}
