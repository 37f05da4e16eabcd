//! The frames of a Linux target, played to our initiator, which is given the commands of the Linux initiator: what it sends
//! is what Linux sent, but for the names of exchanges.

use crate::target::capture;

use crate::initiator::world::*;
use linerate_block::{Buffer, Tag};
use linerate_fcoe::{Completed, Data, InitiatorConfig, Lun, Outcome, Peer, TransportError};
use linerate_wire::OxId;
use linerate_wire::*;
use std::collections::VecDeque;

/// A command of a capture and what followed it.
pub(crate) struct Exchange {
    ox_id: OxId,
    pub(crate) command: Frame,
    /// The target's frames.
    pub(crate) answers: Vec<Frame>,
    /// The initiator's data.
    data: Vec<Frame>,
}

/// Contents of a capture: the target's side is the script, the initiator's the expected output.
pub(crate) struct Script {
    peer: Peer,
    pub(crate) exchanges: Vec<Exchange>,
    rec: VecDeque<Frame>,
    abts: VecDeque<Frame>,
}

impl Script {
    pub(crate) fn read(name: &str) -> Self {
        assert!(capture::names().iter().any(|known| known == name));
        let (mut exchanges, mut rec, mut abts) = (Vec::<Exchange>::new(), VecDeque::new(), VecDeque::new());
        let mut asked = Vec::new();
        for bytes in capture::frames(name) {
            let Some(frame) = capture::fcoe(&bytes) else { continue };
            let header = *frame.header();
            let frame = Frame { header, payload: frame.payload().to_vec(), sof: frame.sof(), eof: frame.eof() };
            let exchange = exchanges.iter_mut().rev().find(|exchange| exchange.ox_id == header.ox_id);
            match (header.fc_type, header.r_ctl) {
                (FcType::FCP, r_ctl::COMMAND) => {
                    exchanges.push(Exchange { ox_id: header.ox_id, command: frame, answers: vec![], data: vec![] });
                }
                (FcType::FCP, _) if header.from_responder() => exchange.unwrap().answers.push(frame),
                (FcType::FCP, _) => exchange.unwrap().data.push(frame),
                (FcType::ELS, r_ctl::ELS_REQUEST) if frame.payload[0] == 0x13 => asked.push(header.ox_id),
                (FcType::ELS, r_ctl::ELS_REPLY) if asked.contains(&header.ox_id) && is_rec_reply(&frame) => {
                    rec.push_back(frame);
                }
                (_, r_ctl::BLS_BA_ACC) => abts.push_back(frame),
                _ => {}
            }
        }
        let first = exchanges[0].command.header;
        let max_payload = if name.starts_with("12") { 1452 } else { 2112 };
        let peer = Peer { own: first.s_id, fc_id: first.d_id, max_payload, ..peer() };
        Self { peer, exchanges, rec, abts }
    }
}

fn is_rec_reply(frame: &Frame) -> bool {
    frame.payload[0] == 1 || frame.payload.len() == RecAccRepr::LEN
}

/// The frame under the name that the capture has for the exchange.
fn named(frame: &Frame, ox_id: OxId) -> Frame {
    Frame { header: FcHeader { ox_id, ..frame.header }, ..frame.clone() }
}

/// Plays a capture: submits its commands, as many as it has to their end, one after another and answers what is sent with what the target answered. Of the
/// exchange `lossy` one data frame is dropped, as it was behind the place of the capture. Commands that are sent again must
/// be the capture's next.
fn play(
    name: &str,
    count: usize,
    lossy: Option<usize>,
    mut completed: impl FnMut(&Exchange, Completed),
) -> (World, usize) {
    let mut script = Script::read(name);
    script.exchanges.truncate(count);
    let mut world = World::with(script.peer, InitiatorConfig { retries: 5, ..InitiatorConfig::default() });
    let (mut sent_commands, mut compared) = (0, 0);
    while sent_commands < script.exchanges.len() {
        submit(&mut world, &script.exchanges[sent_commands]);
        let mut current = sent_commands;
        let done = loop {
            for frame in world.sent() {
                match (frame.header.r_ctl, frame.header.fc_type) {
                    (r_ctl::COMMAND, _) => {
                        current = sent_commands;
                        let mut data = 0;
                        sent_commands += 1;
                        let exchange = &script.exchanges[current];
                        assert_eq!(named(&frame, exchange.ox_id), exchange.command, "{name}: {current}");
                        for (i, answer) in exchange.answers.iter().enumerate() {
                            if lossy != Some(current) || i != 5 {
                                world.feed(&named(answer, frame.header.ox_id));
                            }
                            // Data out is sent before the target goes on.
                            for bytes in std::mem::take(&mut world.out.frames) {
                                let out = Frame::parse(&bytes);
                                assert_eq!(named(&out, exchange.ox_id), exchange.data[data], "{name}: {current}");
                                data += 1;
                                compared += 1;
                            }
                        }
                        assert_eq!(data, exchange.data.len(), "{name}: {current}");
                        compared += 1;
                    }
                    (r_ctl::ELS_REQUEST, _) => {
                        let answer = script.rec[0].clone();
                        if script.rec.len() > 1 {
                            script.rec.pop_front();
                        }
                        let mut answer = named(&answer, frame.header.ox_id);
                        if answer.payload.len() == RecAccRepr::LEN {
                            // It names the exchange, which has another name here.
                            answer.payload[4..6].copy_from_slice(&frame.payload[8..10]);
                        }
                        world.feed(&answer);
                    }
                    (r_ctl::BLS_ABTS, _) => {
                        if let Some(answer) = script.abts.pop_front() {
                            assert_eq!(
                                (frame.header.rx_id, frame.header.seq_id),
                                (answer.header.rx_id, answer.header.seq_id)
                            );
                            world.feed(&named(&answer, frame.header.ox_id));
                        }
                    }
                    other => panic!("{name}: {other:02x?}"),
                }
            }
            if let Some(done) = world.initiator.poll_completion() {
                break done;
            }
            if !world.initiator.wants_room() {
                world.now = world.initiator.poll_timeout().expect("something is awaited");
            }
        };
        completed(&script.exchanges[current], done);
    }
    (world, compared)
}

fn submit(world: &mut World, exchange: &Exchange) {
    let unit = FcpCommand::parse(&exchange.command.payload).unwrap();
    if unit.function != 0 {
        world.initiator.lun_reset(world.now, &world.peer, Lun(unit.lun), Tag(0), 30 * SECOND).unwrap();
        return;
    }
    let len = unit.data_len as usize;
    let data = match (unit.read, unit.write) {
        (true, _) => Data::In(Buffer::new(len)),
        (_, true) => {
            let mut buffer = Buffer::new(len);
            let mut at = 0;
            for frame in &exchange.data {
                buffer.bytes_mut()[at..at + frame.payload.len()].copy_from_slice(&frame.payload);
                at += frame.payload.len();
            }
            Data::Out(buffer)
        }
        _ => Data::None,
    };
    let mut command = command(0, unit.cdb, data);
    command.lun = Lun(unit.lun);
    // Each command that is sent again has twice the time of the one before.
    command.timeout = 300 * SECOND;
    world.initiator.submit(world.now, &world.peer, command).unwrap();
}

/// The command ended as the target said, with the target's data.
fn as_captured(exchange: &Exchange, done: Completed) {
    let unit = FcpCommand::parse(&exchange.command.payload).unwrap();
    let status = exchange.answers.iter().find(|frame| frame.is(r_ctl::STATUS)).unwrap();
    let response = FcpResponse::parse(&status.payload).unwrap();
    if unit.function != 0 {
        assert_eq!(done.outcome, Outcome::Function(response.code.unwrap()));
        return;
    }
    assert_eq!((done.outcome, done.status), (Outcome::Response, response.status));
    assert_eq!((done.residual, done.sense()), (response.residual, response.sense));
    if unit.read && response.status == 0 {
        let buffer = done.buffer.unwrap();
        let mut seen = 0;
        for frame in exchange.answers.iter().filter(|frame| frame.is(r_ctl::DATA)) {
            let at = frame.header.parameter as usize;
            assert_eq!(buffer.bytes()[at..at + frame.payload.len()], frame.payload);
            seen += frame.payload.len();
        }
        assert_eq!(i64::try_from(seen).unwrap(), i64::from(unit.data_len) + response.residual.min(0));
    }
}

/// INQUIRY, VPD pages, REPORT LUNS, READ CAPACITY, MODE SENSE, REPORT SUPPORTED OPERATION CODES with its CHECK CONDITION,
/// READ, WRITE, SYNCHRONIZE CACHE, LUN RESET.
#[test]
fn capture_02_a_scan_and_reads_and_writes() {
    let mut commands = 0;
    let (world, compared) = play("02-scsi-scan-rw-tmf-echo.pcap", 99, None, |exchange, done| {
        as_captured(exchange, done);
        commands += 1;
    });
    assert_eq!((commands, compared), (49, 49 + 18));
    let counters = world.initiator.counters(world.peer.id);
    assert_eq!((counters.responses, counters.short, counters.resent), (49, 0, 0));
}

/// MTU 1500: data out goes in frames of 1024 bytes. The capture ends amid its second command.
#[test]
fn capture_12_small_frames() {
    let (_, compared) = play("12-mtu1500-login-write.pcap", 1, None, as_captured);
    assert_eq!(compared, 1 + 64);
}

/// A lost frame of a WRITE: the target holds the initiative and the frame is missed by nobody until the abort.
#[test]
fn capture_04_write_data_lost() {
    let mut commands = 0;
    let (world, _) = play("04-write-data-lost-rec-abts-ba_acc-retry.pcap", 99, None, |exchange, done| {
        as_captured(exchange, done);
        commands += 1;
    });
    let counters = world.initiator.counters(world.peer.id);
    assert_eq!((commands, counters.commands, counters.resent, counters.abts), (1, 1, 1, 1));
    assert!(counters.rec >= 2);
}

/// A lost frame of a READ: the command is sent again, here without REC, since the status has come.
#[test]
fn capture_05_read_data_lost() {
    let mut commands = 0;
    let (world, _) = play("05-read-data-lost-rec-rjt-retry.pcap", 2, Some(0), |exchange, done| {
        as_captured(exchange, done);
        commands += 1;
    });
    let counters = world.initiator.counters(world.peer.id);
    assert_eq!((counters.resent, counters.short, counters.responses), (1, 1, commands));
}

/// A target that does not answer ABTS without an RX_ID. Linux resets the unit; this initiator says that the peer should be
/// logged out.
#[test]
fn capture_06_abts_unanswered() {
    let mut script = Script::read("06-abts-unanswered-lureset-logo-relogin.pcap");
    script.exchanges.truncate(1);
    let mut world = World::with(script.peer, InitiatorConfig::default());
    submit(&mut world, &script.exchanges[0]);
    let sent = world.pass(60 * SECOND);
    assert_eq!(named(&sent[0], script.exchanges[0].ox_id), script.exchanges[0].command);
    let mut kinds: Vec<u8> = sent.iter().map(|frame| frame.header.r_ctl).collect();
    kinds.dedup();
    assert_eq!(kinds, [r_ctl::COMMAND, r_ctl::ELS_REQUEST, r_ctl::BLS_ABTS]);
    assert_eq!(world.done().outcome, Outcome::Transport(TransportError::AbortUnanswered));
    assert!(world.initiator.poll_event().is_some());
}

/// A target that rejects each REC: the command is sent six times in all, then it has failed, as Linux's.
#[test]
fn capture_14_rec_rejected() {
    let mut outcomes = Vec::new();
    play("14-slow-target-rec-rejected-eio.pcap", 99, None, |exchange, done| {
        outcomes.push(done.outcome);
        if outcomes.len() == 2 {
            as_captured(exchange, done);
        }
    });
    assert_eq!(outcomes, [Outcome::Transport(TransportError::Retries), Outcome::Response]);
}
