//! A region outlives the pairing that it was made for in whoever keeps it mapped. So a cable's maker uses none twice.

use super::{Honest, open, until};
use crate::stranger::*;
use linerate_port::Link;

const SECRET: u8 = 0xa7;

/// The region of an offer, mapped.
fn map(offer: &[u64], file: &std::os::fd::OwnedFd) -> Map {
    Map::new(file, usize::try_from(offer[8] + offer[9] * offer[6]).unwrap())
}

#[test]
fn who_was_joined_to_a_cable_or_offered_one_before_maps_nothing_of_who_comes_after() {
    let mut honest = Honest::new("former");
    let (_asked, offer, file) = until("an offer", || offered(&honest.path, &hello()));
    let first = honest.attacked();
    drop(first.socket);
    honest.link_down();
    // One more, which has only asked again: its offer is the last before the honest one's.
    let (_again, _, last) = until("another offer", || {
        honest.sync();
        offered(&honest.path, &hello())
    });
    let maps = [map(&offer, &file), first.map, map(&offer, &last)];

    let mut peer = until("an honest joiner is let in", || {
        honest.sync();
        open(&honest.right).ok()
    });
    until("link up", || (honest.port.link() == Link::Up).then_some(()));
    let (mut tx, mut rx) = (peer.take_tx(0).unwrap(), peer.take_rx(0).unwrap());
    // A frame lies each way, published and not yet read, while they write all over what they have.
    honest.send(SECRET);
    let mut batch = tx.ring.reserve(1);
    assert!(batch.put(0, &[SECRET; 60]));
    batch.commit(1);
    tx.sync();
    for map in &maps {
        let seen = map.bytes();
        assert!(!seen.windows(60).any(|window| window == [SECRET; 60]), "a frame of others is seen");
        (0..map.len as u64 / 8).for_each(|word| map.put_u64(8 * word, 0x5555_5555_5555_5555));
    }
    rx.sync();
    assert_eq!(rx.ring.batch(1).frame(0).expect("the frame").0.to_vec(), [SECRET; 60]);
    rx.ring.batch(1).release(1);
    honest.tx.sync();
    honest.rx.sync();
    assert_eq!(honest.rx.ring.batch(1).frame(0).expect("the frame").0.to_vec(), [SECRET; 60]);
    assert_eq!((honest.port.link(), peer.link()), (Link::Up, Link::Up));
    drop((peer, tx, rx));
    honest.serves_the_next("former joiners");
}

/// The receiver has not read what the former peer left, and does not let go of its ring: the sender does all the same.
#[test]
fn a_queue_leaves_what_a_former_peer_maps_whatever_the_others_do() {
    let mut honest = Honest::new("left");
    let first = honest.attacked();
    first.send(&[1; 60]);
    honest.rx.sync();
    assert_eq!(honest.rx.ring.available(), 1);
    drop(first.socket);
    until("link down", || (honest.port.link() == Link::Down).then_some(()));
    honest.tx.sync();
    honest.rx.sync();
    assert_eq!(honest.rx.ring.available(), 1, "still to be read");
    honest.send(SECRET);
    assert_eq!(honest.tx.ring.pending(), 1);
    assert!(!first.map.bytes().windows(60).any(|window| window == [SECRET; 60]), "what is for the next is seen");
    honest.serves_the_next("a receiver that is slow");
}
