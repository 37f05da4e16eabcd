//! Client and server against each other, their bytes cut by chance, and both against memory that is read and written
//! directly.

use super::rig::{Rig, SIZE, joined};
use linerate_block::{Buffer, Operation, Tag};
use linerate_nbd::{CLIENT_SLICES, Client, ClientOptions, Negotiation};
use std::io::IoSlice;

/// Numbers that look like chance (a linear congruential generator, Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn piece(&mut self) -> usize {
        usize::try_from(1 + self.below(3000)).unwrap()
    }
}

/// Agrees on the export.
fn connect(rig: &mut Rig, chance: &mut Chance) -> Client {
    let mut negotiation = Negotiation::new("disk");
    let mut to_client = Vec::new();
    loop {
        rig.say(&negotiation.output()).unwrap();
        to_client.extend(rig.hear(chance.piece()));
        let room = negotiation.room();
        let n = room.len().min(to_client.len()).min(chance.piece());
        room[..n].copy_from_slice(&to_client[..n]);
        to_client.drain(..n);
        if let Some(agreed) = negotiation.received(n).unwrap() {
            assert!(agreed.structured && to_client.is_empty());
            return Client::new(agreed, ClientOptions::default(), 1, rig.now).unwrap();
        }
    }
}

/// Moves bytes both ways until nothing is under way.
fn settle(client: &mut Client, rig: &mut Rig, chance: &mut Chance) {
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    loop {
        client.begin(rig.now);
        let mut slices = [IoSlice::new(&[]); CLIENT_SLICES];
        let n = client.output(&mut slices);
        let some = joined(&slices[..n], chance.piece());
        client.sent(some.len());
        to_server.extend(some);
        let n = to_server.len().min(chance.piece());
        let taken = rig.say(&to_server[..n]).unwrap();
        to_server.drain(..taken);
        to_client.extend(rig.hear(chance.piece()));
        while client.advance().unwrap() {}
        if !client.has_waiting() && !client.has_output() && !client.expects(rig.now).unwrap() {
            return;
        }
        let room = client.room();
        let n = room.len().min(to_client.len()).min(chance.piece());
        room[..n].copy_from_slice(&to_client[..n]);
        to_client.drain(..n);
        client.received(n, rig.now);
    }
}

#[test]
fn what_a_client_does_at_a_server_is_what_it_does_to_memory() {
    let (mut rig, mut chance) = (Rig::new(), Chance(7));
    let mut client = connect(&mut rig, &mut chance);
    assert_eq!((client.geometry().block_size, client.geometry().blocks), (512, SIZE / 512));
    let mut model = vec![0u8; usize::try_from(SIZE).unwrap()];
    for round in 0..200 {
        // Of blocks that no other operation of the round has to do with.
        let (mut expected, count) = (Vec::new(), 1 + chance.below(8));
        for i in 0..count {
            let lba = i * 256 + chance.below(200);
            let blocks = 1 + chance.below(50);
            let [from, len] = [lba, blocks].map(|blocks| usize::try_from(blocks * 512).unwrap());
            let span = from..from + len;
            let tag = Tag(u32::try_from(i).unwrap());
            let mut buffer = Buffer::new(len);
            let operation = match chance.below(5) {
                0 => {
                    expected.push((tag, span));
                    Operation::Read { lba, buffer }
                }
                1 | 2 => {
                    buffer.bytes_mut().fill(u8::try_from(1 + chance.below(255)).unwrap());
                    model[span].copy_from_slice(buffer.bytes());
                    Operation::Write { lba, buffer, fua: chance.below(2) == 0 }
                }
                3 => {
                    model[span].fill(0);
                    Operation::Discard { lba, blocks }
                }
                _ => {
                    model[span].fill(0);
                    Operation::WriteZeroes { lba, blocks, discard: false, fua: true }
                }
            };
            client.submit(tag, operation);
        }
        settle(&mut client, &mut rig, &mut chance);
        let ends: Vec<_> = std::iter::from_fn(|| client.complete()).collect();
        assert_eq!(u64::try_from(ends.len()).unwrap(), count, "round {round}");
        for end in ends {
            assert_eq!(end.result, Ok(()), "round {round}");
            if let Some((_, span)) = expected.iter().find(|(tag, _)| *tag == end.tag) {
                assert!(end.buffer.unwrap().bytes() == &model[span.clone()], "round {round}");
            }
        }
    }
}
