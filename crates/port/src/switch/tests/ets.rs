//! Shares of a link among traffic classes (IEEE 802.1Q-2022, clauses 8.6.8 and 37): bytes in, bytes out, by a clock of the
//! test's own.

use super::*;
use linerate_offload::{ClassTable, Selection};
use linerate_sum::SplitMix64;
use linerate_wire::Priority;

/// Bytes a second of the link that all senders want.
const RATE: f64 = 25e6;
/// Time of a turn, in ns, and time after which bytes are counted: what is in rings then came before they were full.
const STEP: u64 = 100_000;
const WARM: u64 = 100_000_000;
const NAMES: [&str; 8] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

/// A sender of one priority: bytes a second, and lengths of its frames.
#[derive(Clone, Copy, Debug)]
struct Sender {
    rate: f64,
    lens: [usize; 2],
}

/// Bytes that leave in a second, by class, with a sender for each priority.
fn second(table: &ClassTable, senders: &[Sender; 8]) -> [f64; 8] {
    let mut b = Bench::plain(&NAMES);
    b.add("to", Policy::default(), 1, 1500);
    b.switch.buffers(&Buffers { bytes: 64 << 20, reserved: 64 << 10, classes: *table, ..Buffers::default() });
    b.send("to", &frame(ALL, mac(99)));
    b.arrived(NAMES);
    let mut random = SplitMix64::new(11);
    let (mut link, mut due, mut out) = (0.0, [0.0; 8], [0.0; 8]);
    while b.now < WARM + 1_000_000_000 {
        b.now += STEP;
        let turn = STEP as f64 / 1e9;
        for (priority, sender) in senders.iter().enumerate() {
            due[priority] += sender.rate * turn;
            let end = b.end(NAMES[priority]);
            end.tx.sync();
            let mut room = end.tx.ring.free();
            while due[priority] > 0.0 && room > 0 {
                let mut bytes =
                    tagged(mac(99), mac(u8::try_from(priority).unwrap()), u16::try_from(priority << 13).unwrap());
                bytes.resize(sender.lens[usize::from(random.next_u64() & 1 == 1)], 0);
                let mut batch = end.tx.ring.reserve(1);
                assert!(batch.put(0, &bytes));
                batch.commit(1);
                (room, due[priority]) = (room - 1, due[priority] - bytes.len() as f64);
            }
            // A sender that was held up does not send later what it did not send in its time.
            due[priority] = due[priority].min(20_000.0);
            end.tx.sync();
        }
        b.poll();
        link += RATE * turn;
        let end = b.ends.last_mut().unwrap();
        end.rx.sync();
        let (mut batch, mut taken) = (end.rx.ring.batch(u32::MAX), 0);
        while link > 0.0 && taken < batch.len() {
            let (frame, _) = batch.frame(taken).unwrap();
            let priority = Priority::ALL[usize::from(frame.to_vec()[14] >> 5)];
            link -= frame.len() as f64;
            out[table.class(priority).index()] += if b.now > WARM { frame.len() as f64 } else { 0.0 };
            taken += 1;
        }
        batch.release(taken);
        end.rx.sync();
        // A link that stood still has lost its time.
        link = link.min(0.0);
    }
    b.ledger();
    out
}

/// Bytes that each class is to have of a second's: strict classes first, the highest before others; then shares by weight, of
/// which nobody gets more than it wants; then, as if of one weight each, the rest.
fn due(table: &ClassTable, wanted: [f64; 8]) -> [f64; 8] {
    let (mut left, mut due) = (RATE, [0.0; 8]);
    let mut levels: Vec<usize> = table.selection().iter().enumerate().map(|(class, one)| one.level(class)).collect();
    let of_level = levels.clone();
    levels.sort_unstable();
    levels.dedup();
    for level in levels.into_iter().rev() {
        let mut peers: Vec<usize> = (0..8).filter(|class| of_level[*class] == level && wanted[*class] > 0.0).collect();
        while !peers.is_empty() {
            let weight = |class: &usize| match table.selection()[*class] {
                Selection::Share(weight) => f64::from(weight),
                _ => 1.0,
            };
            let each = left / peers.iter().map(weight).sum::<f64>();
            let (modest, greedy): (Vec<_>, Vec<_>) =
                peers.iter().partition(|class| wanted[**class] <= each * weight(class));
            if modest.is_empty() {
                greedy.iter().for_each(|class| due[*class] = each * weight(class));
                left = 0.0;
                break;
            }
            modest.iter().for_each(|class| (due[*class], left) = (wanted[*class], left - wanted[*class]));
            peers = greedy;
        }
    }
    due
}

fn check(table: &ClassTable, senders: &[Sender; 8], what: &str) {
    let mut wanted = [0.0; 8];
    for (priority, sender) in Priority::ALL.iter().zip(senders) {
        wanted[table.class(*priority).index()] += sender.rate;
    }
    let (got, due) = (second(table, senders), due(table, wanted));
    for class in 0..8 {
        // Of what it is to have, 2 %, and two frames.
        let slack = due[class] * 0.02 + 3028.0;
        assert!(
            (got[class] - due[class]).abs() <= slack,
            "{what}: {class} has {got:?}, not {due:?}: {table} {senders:?}"
        );
    }
}

#[test]
fn shares_are_those_of_the_table_over_a_second() {
    for seed in 0..16 {
        let mut random = SplitMix64::new(seed);
        let mut below = |most: u64| random.next_u64() % most;
        let selection = [(); 8].map(|()| match below(8) {
            0 => Selection::Strict,
            1 => Selection::Rest,
            _ => Selection::Share(u32::try_from(1 + below(100)).unwrap()),
        });
        let of = [(); 8].map(|()| u8::try_from(below(8)).unwrap());
        let lossless = u8::try_from(below(256) & below(256)).unwrap();
        let table = ClassTable::new(of, selection, lossless).unwrap();
        let senders = [(); 8].map(|()| Sender {
            rate: RATE * [0.0, 0.02, 0.1, 0.3, 0.7][usize::try_from(below(5)).unwrap()],
            lens: [[64, 64], [64, 1514], [1514, 1514], [700, 300]][usize::try_from(below(4)).unwrap()],
        });
        check(&table, &senders, &format!("seed {seed}"));
    }
}

/// Two classes that both want the whole link, one of them lossless, with frames of different lengths.
#[test]
fn a_lossless_class_and_another_have_their_percents() {
    for (bandwidth, lens) in [([50, 50], [64, 1514]), ([20, 80], [1514, 64]), ([1, 99], [1514, 1514])] {
        let mut selection = [Selection::Strict; 8];
        (selection[0], selection[1]) = (Selection::Share(bandwidth[0]), Selection::Share(bandwidth[1]));
        let table = ClassTable::new([0, 0, 0, 1, 0, 0, 0, 0], selection, 1 << 3).unwrap();
        let mut senders = [Sender { rate: 0.0, lens: [64; 2] }; 8];
        senders[0] = Sender { rate: RATE, lens: [lens[0]; 2] };
        senders[3] = Sender { rate: RATE, lens: [lens[1]; 2] };
        check(&table, &senders, "two");
    }
}
