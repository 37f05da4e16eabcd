//! Data in both directions, and what is not taken for it.

use crate::target::mock::{Behaviour, Event, check, good, pattern};
use crate::target::rig::{Rig, cdb, plain, rig};
use crate::target::wire::frame;
use linerate_fcoe::{Peer, TargetConfig, TargetDrop};
use linerate_wire::{Eof, FcHeader, FcpCommand, FcpResponse, OxId, RxId, Sof, f_ctl, r_ctl};

/// FCP-4, clauses 9.4 and 9.5: data in is one sequence whose frames carry their relative offset; FCP_RSP is the next one,
/// and the exchange's last.
#[test]
fn data_in_is_one_sequence_and_the_response_the_next() {
    for (piece, buffers) in [(1 << 20, false), (4096, false), (700, false), (100, false), (7, false), (1 << 20, true)] {
        let mut rig = rig();
        rig.device().memory.piece = piece;
        rig.device().buffers = buffers;
        rig.read(0, OxId(5), 3, 200);
        let mut data = Vec::new();
        for number in 0..49 {
            let sent = rig.wire.expect(r_ctl::DATA);
            let header = sent.header;
            assert_eq!(
                (header.ox_id, header.rx_id, header.seq_id, header.seq_cnt),
                (OxId(5), RxId(0), 1, number),
                "{piece}"
            );
            assert_eq!(header.f_ctl, if number == 48 { 0x88_0008 } else { 0x80_0008 });
            assert_eq!((header.s_id, header.d_id), (rig.peers[0].own, rig.peers[0].fc_id));
            assert_eq!(header.parameter as usize, data.len());
            data.extend(sent.payload);
        }
        assert_eq!(data, (3 * 512..203 * 512).map(pattern).collect::<Vec<u8>>());
        let sent = rig.wire.expect(r_ctl::STATUS);
        assert_eq!((sent.header.f_ctl, sent.header.seq_id, sent.header.rx_id), (0x98_0000, 2, RxId(0)));
        assert_eq!(sent.payload, [0; 24]);
        rig.wire.silent();
        assert_eq!((rig.target.exchanges(), rig.device().away), (0, 0));
        let counters = rig.target.counters();
        assert_eq!((counters.commands, counters.responses, counters.bytes_sent), (1, 1, 200 * 512));
        assert_eq!(rig.target.peers().next().unwrap().bytes_sent, 200 * 512);
    }
}

/// FCP-4, clause 9.5: FCP_RESID_UNDER is FCP_DL less what the command wanted, FCP_RESID_OVER the other way
/// round; never more than FCP_DL bytes are sent.
#[test]
fn residuals_are_what_the_command_wanted_more_or_less_than_fcp_dl() {
    let mut rig = rig();
    let cdb = cdb(0x12, 0, 0);
    for (data_len, bytes, wanted, sent, residual) in
        [(36, 36, 36, 36, 0), (96, 36, 36, 36, -60), (5, 36, 36, 5, 31), (0, 36, 36, 0, 36), (255, 0, 0, 0, -255)]
    {
        rig.device().plans.push_back(Behaviour::Send(vec![9; bytes], good(wanted)));
        rig.command(0, OxId(1), &FcpCommand { read: true, data_len, ..plain(&cdb) });
        if sent > 0 {
            assert_eq!(rig.wire.expect(r_ctl::DATA).payload, vec![9; sent]);
        }
        assert_eq!(rig.response(OxId(1)), (0, residual, None));
        rig.wire.silent();
    }
    // Without RDDATA and WRDATA, FCP_DL does not count (FCP-4, clause 9.2.2).
    rig.command(0, OxId(1), &FcpCommand { data_len: 512, ..plain(&[0; 16]) });
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(rig.device().away, 0);
}

/// FCP-4, clause 9.5: sense data goes with CHECK CONDITION.
#[test]
fn sense_data_goes_with_its_status() {
    let mut rig = rig();
    rig.device().plans.push_back(Behaviour::End(check(6, 0)));
    rig.command(0, OxId(1), &plain(&[0; 16]));
    let sent = rig.wire.expect(r_ctl::STATUS);
    let unit = FcpResponse::parse(&sent.payload).unwrap();
    assert_eq!((unit.status, unit.confirm, unit.sense), (2, false, &check(6, 0).sense[..18]));
    assert_eq!(sent.header.f_ctl, 0x98_0002, "two bytes fill the last word");
}

/// FCP-4, clause 9.3: one FCP_XFER_RDY asks for all data, at relative offset 0, and hands over the initiative.
#[test]
fn data_out_is_asked_for_and_placed() {
    for buffers in [false, true] {
        let mut rig = rig();
        rig.device().buffers = buffers;
        rig.write(0, OxId(7), 10, 9);
        let ready = rig.wire.expect(r_ctl::DATA_DESCRIPTOR);
        assert_eq!((ready.header.f_ctl, ready.header.seq_id, ready.header.ox_id), (0x89_0000, 1, OxId(7)));
        assert_eq!(ready.payload, [0, 0, 0, 0, 0, 0, 0x12, 0, 0, 0, 0, 0]);
        rig.data(0, OxId(7), ready.header.rx_id, 0, &[0xab; 9 * 512]);
        assert_eq!(rig.response(OxId(7)), (0, 0, None));
        rig.wire.silent();
        placed(&mut rig, 10 * 512, &[0xab; 9 * 512]);
        assert_eq!((rig.target.exchanges(), rig.device().away), (0, 0));
        assert_eq!(rig.target.counters().bytes_received, 9 * 512);
    }
}

/// The memory is as it was at first, but for `data` at `offset`.
#[track_caller]
fn placed(rig: &mut Rig, offset: usize, data: &[u8]) {
    for (at, byte) in rig.device().memory.bytes.iter().enumerate() {
        let expected = if (offset..offset + data.len()).contains(&at) { data[at - offset] } else { pattern(at) };
        assert_eq!(*byte, expected, "byte {at}");
    }
}

/// FCP-4, clause 9.3: each burst is asked for by an FCP_XFER_RDY of its own, one after the other.
#[test]
fn long_data_out_is_asked_for_in_bursts() {
    let mut rig = Rig::new(TargetConfig { burst: 8195, ..TargetConfig::default() }, |peer| peer);
    let data: Vec<u8> = (0..20_480_u32).map(|i| (i * 13).to_le_bytes()[0]).collect();
    rig.write(0, OxId(7), 0, 40);
    for (offset, len) in [(0, 8192), (8192, 8192), (16384, 4096)] {
        let (rx_id, at, asked) = rig.ready();
        assert_eq!((at, asked), (offset, len));
        rig.wire.silent();
        rig.data(0, OxId(7), rx_id, offset, &data[offset as usize..][..len as usize]);
    }
    assert_eq!(rig.response(OxId(7)), (0, 0, None));
    placed(&mut rig, 0, &data);
    assert_eq!(rig.target.counters().transfer_readies, 3);
    // Not a byte of the next burst comes with this one.
    rig.write(0, OxId(8), 0, 40);
    let (rx_id, _, _) = rig.ready();
    let header = rig.header(0, r_ctl::DATA, f_ctl::RELATIVE_OFFSET, OxId(8), rx_id);
    rig.take(0, &frame(header, Sof::I3, Eof::N, &[0xee; 8196]));
    assert_eq!(rig.dropped(TargetDrop::Beyond), 1);
    placed(&mut rig, 0, &data);
}

/// SBC-3: a WRITE for which the initiator gives less than the CDB says moves that, and the residual tells the rest.
#[test]
fn a_write_with_less_data_than_its_cdb_says_is_over() {
    let mut rig = rig();
    let cdb = cdb(0x2a, 4, 4);
    rig.command(0, OxId(7), &FcpCommand { write: true, data_len: 512, ..plain(&cdb) });
    let (rx_id, _, len) = rig.ready();
    assert_eq!(len, 512);
    rig.data(0, OxId(7), rx_id, 0, &[1; 512]);
    assert_eq!(rig.response(OxId(7)), (0, 1536, None));
    placed(&mut rig, 2048, &[1; 512]);
}

/// Frames that are not the next one of the burst: each is counted for its reason, nothing is written and nothing ends; then
/// the right ones come, and all is well.
#[test]
fn data_that_is_not_the_next_is_counted_and_not_written() {
    let mut rig = rig();
    rig.write(0, OxId(7), 0, 8);
    let (rx_id, _, _) = rig.ready();
    let data = [0x5a; 4096];
    let good = rig.data_frames(0, OxId(7), rx_id, 0, &data);
    let first = FcHeader { seq_id: 1, ..rig.header(0, r_ctl::DATA, 0x00_0008, OxId(7), rx_id) };
    let last = FcHeader { seq_cnt: 1, parameter: 2048, f_ctl: 0x09_0008, ..first };
    let wrong = |header, sof, eof, len: usize| frame(header, sof, eof, &vec![0xee; len]);
    let bad_first = [
        // FCP-4, clause 9.4: the relative offset says where data belongs. Another is not taken, be it before or after.
        (wrong(FcHeader { parameter: 2048, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Gap),
        (wrong(FcHeader { parameter: u32::MAX, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Gap),
        (wrong(FcHeader { f_ctl: 0, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::NoOffset),
        (wrong(first, Sof::I3, Eof::N, 0), TargetDrop::NoOffset),
        // FC-FS-3, sequence management: a sequence begins with SOFi3.
        (wrong(first, Sof::N3, Eof::N, 2048), TargetDrop::OutOfSequence),
        // FCP-4, clause 9.3: the burst is as long as was asked for.
        (wrong(FcHeader { f_ctl: 0x09_0008, ..first }, Sof::I3, Eof::T, 2048), TargetDrop::WrongEnd),
        (wrong(FcHeader { f_ctl: 0x00_0008, ..first }, Sof::I3, Eof::N, 4096), TargetDrop::WrongEnd),
        (wrong(FcHeader { f_ctl: 0x09_0008, ..first }, Sof::I3, Eof::T, 4100), TargetDrop::Beyond),
        // FC-FS-3, exchange identifiers: once the responder has given RX_ID, all frames have it.
        (wrong(FcHeader { rx_id: RxId::UNASSIGNED, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::UnknownExchange),
        (wrong(FcHeader { rx_id: RxId(rx_id.0 + 1), ..first }, Sof::I3, Eof::N, 2048), TargetDrop::UnknownExchange),
        (wrong(FcHeader { ox_id: OxId(8), ..first }, Sof::I3, Eof::N, 2048), TargetDrop::UnknownExchange),
        // FC-FS-3, clause 12.7: what the responder sends is not for the responder.
        (wrong(FcHeader { f_ctl: 0x80_0008, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Unexpected),
        (wrong(FcHeader { f_ctl: 0x40_0008, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Unexpected),
        (wrong(FcHeader { df_ctl: 0x10, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Unexpected),
        (wrong(FcHeader { d_id: rig.peers[1].fc_id, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Foreign),
        (wrong(FcHeader { s_id: rig.peers[1].fc_id, ..first }, Sof::I3, Eof::N, 2048), TargetDrop::Foreign),
        // FC-FS-3, frame delimiters: EOFni and EOFa void a frame.
        (wrong(first, Sof::I3, Eof::NI, 2048), TargetDrop::Void),
        (wrong(first, Sof::I3, Eof::A, 2048), TargetDrop::Void),
    ];
    let bad_next = [
        (wrong(first, Sof::I3, Eof::N, 2048), TargetDrop::Duplicate),
        (wrong(FcHeader { parameter: 2044, ..last }, Sof::N3, Eof::T, 2052), TargetDrop::Overlap),
        (wrong(FcHeader { parameter: 2052, ..last }, Sof::N3, Eof::T, 2044), TargetDrop::Gap),
        (wrong(last, Sof::I3, Eof::T, 2048), TargetDrop::OutOfSequence),
        (wrong(FcHeader { seq_cnt: 2, ..last }, Sof::N3, Eof::T, 2048), TargetDrop::OutOfSequence),
        (wrong(FcHeader { seq_cnt: 0, ..last }, Sof::N3, Eof::T, 2048), TargetDrop::OutOfSequence),
        (wrong(FcHeader { seq_id: 2, ..last }, Sof::N3, Eof::T, 2048), TargetDrop::OutOfSequence),
        (wrong(last, Sof::N3, Eof::T, 2052), TargetDrop::Beyond),
        (wrong(FcHeader { f_ctl: 8, ..last }, Sof::N3, Eof::N, 2048), TargetDrop::WrongEnd),
    ];
    for (bad, good) in [(&bad_first[..], &good[0]), (&bad_next[..], &good[1])] {
        let before = usize::try_from(rig.target.counters().bytes_received).unwrap();
        for (i, (bytes, reason)) in bad.iter().enumerate() {
            let count = rig.dropped(*reason);
            rig.take(0, bytes);
            assert_eq!(rig.dropped(*reason), count + 1, "{i}: {reason:?} {:?}", rig.target.counters());
            rig.wire.silent();
        }
        placed(&mut rig, 0, &data[..before]);
        rig.take(0, good);
    }
    assert_eq!(rig.response(OxId(7)), (0, 0, None));
    placed(&mut rig, 0, &data);
    // The same once more: its exchange is no more.
    rig.take(0, &good[1]);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 4);
    assert_eq!(rig.target.counters().drops(), 28);
}

/// Another initiator's frames are not this one's, though it names the exchange exactly.
#[test]
fn a_foreign_exchange_cannot_be_written_to() {
    let mut rig = rig();
    rig.write(0, OxId(7), 0, 4);
    let (rx_id, _, _) = rig.ready();
    rig.data(1, OxId(7), rx_id, 0, &[0xee; 2048]);
    rig.abts(1, OxId(7), rx_id);
    assert_eq!(rig.dropped(TargetDrop::UnknownExchange), 2);
    rig.wire.expect(r_ctl::BLS_BA_RJT);
    rig.data(0, OxId(7), rx_id, 0, &[0x11; 2048]);
    assert_eq!(rig.response(OxId(7)), (0, 0, None));
    placed(&mut rig, 0, &[0x11; 2048]);
}

/// Data that nobody asked for: before FCP_XFER_RDY could be sent, of a READ, of a command that is at work.
#[test]
fn unasked_data_goes_nowhere() {
    let mut rig = rig();
    rig.wire.room = 0;
    rig.write(0, OxId(1), 0, 4);
    rig.read(0, OxId(2), 0, 4);
    rig.device().plans.push_back(Behaviour::Wait);
    rig.write(0, OxId(3), 0, 4);
    for exchange in 0..3 {
        rig.data(0, OxId(exchange + 1), RxId(exchange), 0, &[0xee; 2048]);
    }
    assert_eq!(rig.dropped(TargetDrop::UnaskedData), 3);
    placed(&mut rig, 0, &[]);
}

/// As there is room, each command has its turn; what waits for it goes on where it was.
#[test]
fn commands_share_the_room_in_turn() {
    let mut rig =
        Rig::new(TargetConfig { turn: 4, ..TargetConfig::default() }, |peer| Peer { max_payload: 512, ..peer });
    rig.wire.room = 0;
    rig.read(0, OxId(1), 0, 16);
    rig.read(1, OxId(2), 100, 16);
    rig.read(0, OxId(3), 200, 2);
    assert!(rig.target.is_blocked());
    rig.wire.silent();
    let mut order = Vec::new();
    let mut data = [const { Vec::new() }; 4];
    for room in [3, 1, 0, 4, 2, 100] {
        rig.wire.room = room;
        rig.poll();
        let sent = rig.wire.all();
        assert!(sent.len() <= room);
        for sent in sent {
            order.push(sent.header.ox_id);
            assert_eq!(
                sent.header.seq_cnt as usize * 512,
                if sent.header.r_ctl == r_ctl::DATA { data[usize::from(sent.header.ox_id.0)].len() } else { 0 }
            );
            data[usize::from(sent.header.ox_id.0)].extend(if sent.header.r_ctl == r_ctl::DATA {
                sent.payload
            } else {
                Vec::new()
            });
        }
    }
    assert_eq!(
        order[..10].iter().map(|ox_id| ox_id.0).collect::<Vec<_>>(),
        [1, 1, 1, 2, 3, 3, 3, 1, 2, 2],
        "who could not send all goes last, and a response goes with the data's end"
    );
    assert_eq!(order.len(), 16 + 1 + 16 + 1 + 2 + 1);
    for (ox_id, lba, blocks) in [(1, 0, 16), (2, 100, 16), (3, 200, 2)] {
        assert_eq!(data[ox_id], (lba * 512..(lba + blocks) * 512).map(pattern).collect::<Vec<u8>>());
    }
    assert!(!rig.target.is_blocked());
}

/// A device server that goes back on its word ends the command with HARDWARE ERROR, and nothing is written elsewhere.
#[test]
fn a_device_without_its_memory_fails_the_command() {
    let mut rig = rig();
    rig.write(0, OxId(1), 0, 8);
    let (rx_id, _, _) = rig.ready();
    rig.device().memory_gone = true;
    rig.data(0, OxId(1), rx_id, 0, &[1; 4096]);
    assert_eq!(rig.response(OxId(1)), (2, -4096, None));
    rig.read(0, OxId(2), 0, 8);
    assert_eq!(rig.response(OxId(2)), (2, -4096, None));
    // More data than FCP_DL gives.
    rig.device().plans.push_back(Behaviour::Receive(1024, good(1024)));
    let cdb = cdb(0x2a, 0, 2);
    rig.command(0, OxId(3), &FcpCommand { write: true, data_len: 512, ..plain(&cdb) });
    assert_eq!(rig.response(OxId(3)), (2, -512, None));
    assert_eq!((rig.target.counters().failed_steps, rig.device().away), (3, 0));
    assert!(rig.device().sending.is_empty(), "nobody waits for it");
    placed(&mut rig, 0, &[]);
}

/// A device server's later step is done as the first would have been.
#[test]
fn a_step_that_comes_later_is_done() {
    let mut rig = rig();
    for ox_id in [1, 2] {
        rig.device().plans.push_back(Behaviour::Wait);
        rig.read(0, OxId(ox_id), 0, 1);
    }
    rig.poll();
    rig.wire.silent();
    let then = good(512);
    rig.device()
        .later
        .push_back((linerate_block::Tag(1), linerate_fcoe::Step::SendMemory { offset: 512, len: 512, then }));
    rig.poll();
    assert_eq!(rig.wire.expect(r_ctl::DATA).payload, (512..1024).map(pattern).collect::<Vec<u8>>());
    assert_eq!(rig.response(OxId(2)), (0, 0, None));
    // A tag of none: it is counted, and its buffer goes back.
    rig.device().away += 1;
    let buffer = linerate_block::Buffer::new(512);
    rig.device().later.push_back((linerate_block::Tag(99_999), linerate_fcoe::Step::Send { buffer, then }));
    rig.poll();
    assert_eq!((rig.target.counters().failed_steps, rig.device().away), (1, 0));
    rig.wire.silent();
    assert!(!rig.device().events.contains(&Event::Abort(1)));
}

/// While data comes into a buffer there is no step but the one that follows it.
#[test]
fn a_step_that_comes_too_early_is_not_done() {
    let mut rig = rig();
    rig.device().buffers = true;
    rig.write(0, OxId(1), 0, 1);
    let (rx_id, _, _) = rig.ready();
    let task = rig.device().open[&0];
    rig.device().later.push_back((linerate_block::Tag(0), linerate_fcoe::Step::End(good(512))));
    rig.poll();
    rig.wire.silent();
    assert_eq!(rig.target.counters().failed_steps, 1);
    rig.device().open.insert(0, task);
    rig.data(0, OxId(1), rx_id, 0, &[1; 512]);
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
}

/// F_CTL's fill is no data (FC-FS-3, clause 12.7).
#[test]
fn fill_is_not_placed() {
    let mut rig = rig();
    rig.device().plans.push_back(Behaviour::Receive(10, good(10)));
    let cdb = cdb(0x55, 0, 0);
    rig.command(0, OxId(1), &FcpCommand { write: true, data_len: 10, ..plain(&cdb) });
    let (rx_id, _, len) = rig.ready();
    assert_eq!(len, 10);
    let header = rig.header(0, r_ctl::DATA, f_ctl::RELATIVE_OFFSET | 0x09_0000, OxId(1), rx_id);
    rig.send(0, header, &[3; 10]);
    assert_eq!(rig.response(OxId(1)), (0, 0, None));
    assert_eq!(rig.device().events.last(), Some(&Event::Received(vec![3; 10])));
}
