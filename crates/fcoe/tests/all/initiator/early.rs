//! Frames that overtake each other on their way to the initiator: data in, its status, what is sent again.

use crate::initiator::world::*;
use linerate_fcoe::{InitiatorConfig, Peer};
use linerate_wire::RxId;
use linerate_wire::*;

/// E_D_TOV and a second.
const REC_TOV: u64 = 3 * SECOND;

/// All orders of so many things.
fn orders(count: usize) -> Vec<Vec<usize>> {
    if count == 0 {
        return vec![Vec::new()];
    }
    let insert = |order: Vec<usize>| {
        (0..count).map(move |at| {
            let mut order = order.clone();
            order.insert(at, count - 1);
            order
        })
    };
    orders(count - 1).into_iter().flat_map(insert).collect()
}

/// Data and its status, in each order that there is: the command ends with the last that comes, and not before; the same
/// when each of the others comes twice (FC-FS-3, clauses 12.10 and 12.15: SEQ_CNT and relative offset agree).
#[test]
fn data_and_status_come_in_any_order() {
    for (len, count) in [(4096, 2), (8192, 4), (9728, 5)] {
        let bytes = pattern(len, 9);
        for (twice, order) in
            [false, true].into_iter().flat_map(|twice| orders(count + 1).into_iter().map(move |order| (twice, order)))
        {
            let mut world = World::new();
            let ox_id = world.read(len);
            let mut frames = data(ox_id, &bytes);
            frames.push(good(ox_id));
            assert_eq!(frames.len(), count + 1);
            for (came, at) in order.iter().enumerate() {
                for _ in 0..if twice && came < count { 2 } else { 1 } {
                    world.none_done();
                    world.feed(&frames[*at]);
                }
            }
            assert_eq!(world.good().buffer.unwrap().bytes(), bytes, "{order:?}");
            let counters = world.initiator.counters(world.peer.id);
            assert_eq!((counters.discontinuous, counters.overlap, counters.bytes_in), (0, 0, len as u64), "{order:?}");
            let doubled = order[..count].iter().filter(|at| twice && **at < count).count();
            assert_eq!(counters.duplicate, doubled as u64);
        }
    }
}

/// The last frame may be the first that comes, when its place is a number of frames from the sequence's beginning that are
/// at least as long.
#[test]
fn a_last_frame_that_comes_first_is_proven_to_be_the_last() {
    let bytes = pattern(9728, 9);
    let changes: [fn(&mut Frame); 4] = [
        |frame| frame.header.seq_cnt += 1,
        |frame| frame.header.seq_cnt = 0,
        |frame| frame.header.parameter -= 2,
        // The others would be shorter than it.
        |frame| (frame.header.seq_cnt, frame.header.parameter) = (8, 8 * 1056),
    ];
    for change in changes {
        let mut world = World::new();
        let ox_id = world.read(9728);
        let frames = data(ox_id, &bytes);
        let mut wrong = frames[4].clone();
        change(&mut wrong);
        wrong.payload.fill(0xee);
        world.feed(&wrong);
        assert_eq!(world.initiator.counters(world.peer.id).discontinuous, 1, "{:?}", wrong.header);
        for at in [4, 3, 2, 1, 0] {
            world.feed(&frames[at]);
        }
        world.feed(&good(ox_id));
        assert_eq!(world.good().buffer.unwrap().bytes(), bytes);
    }
}

fn with_retry() -> World {
    let peer = Peer { retry: true, confirm: true, ..peer() };
    World::with(peer, InitiatorConfig::default())
}

/// FCP-4, clause 12.4.1: what SRR has asked for counts as soon as it comes, though it has overtaken the reply, and in any
/// order.
#[test]
fn data_that_is_sent_again_may_overtake_the_reply() {
    for order in orders(4) {
        let mut world = with_retry();
        let bytes = pattern(9728, 8);
        let ox_id = world.read(9728);
        let frames = data(ox_id, &bytes);
        for at in [0, 1, 3, 4] {
            world.feed(&frames[at]);
        }
        let status = response(ox_id, &FcpResponse { confirm: true, ..FcpResponse::default() });
        world.feed(&status);
        let srr = world.pass(10_000_000 + TICK).remove(0);
        assert_eq!(FcpSrr::parse(&srr.payload).map(|srr| srr.offset), Ok(4224));
        let mut again = data_at(ox_id, 5, 4224, &bytes[4224..]);
        again.push(srr_reply(&srr, FcpSrrReply::Accept));
        assert_eq!(again.len(), 4);
        for at in &order {
            world.none_done();
            world.feed(&again[*at]);
        }
        world.feed(&status);
        assert_eq!(world.good().buffer.unwrap().bytes(), bytes, "{order:?}");
    }
}

/// FCP-4, clause 12.4.1: the same for FCP_XFER_RDY; the reply that comes after it begins nothing.
#[test]
fn a_request_for_data_may_overtake_the_reply() {
    for overtakes in [true, false] {
        let mut world = with_retry();
        let bytes = pattern(8192, 1);
        let ox_id = world.write(&bytes);
        world.feed(&xfer_rdy(ox_id, 0, 8192));
        assert_eq!(world.sent().len(), 4);
        let asked = world.pass(REC_TOV + TICK).remove(0);
        world.feed(&rec_accept(&asked, 0, 2048));
        let srr = world.only();
        let accept = srr_reply(&srr, FcpSrrReply::Accept);
        // The first, which comes late, is not what was asked for.
        world.feed(&xfer_rdy(ox_id, 0, 8192));
        assert!(world.sent().is_empty());
        let frames =
            if overtakes { [xfer_rdy(ox_id, 2048, 6144), accept] } else { [accept, xfer_rdy(ox_id, 2048, 6144)] };
        for frame in &frames {
            world.feed(frame);
        }
        let again = world.sent();
        assert_eq!((again.len(), again[0].header.rx_id, again[0].header.parameter), (3, RxId(0x11), 2048));
        world.feed(&good(ox_id));
        world.good();
        assert!(world.pass(REC_TOV).is_empty());
    }
}
