//! The order of tasks, and functions that end them.

use super::slow::{Diary, Slow};
use super::support::*;
use crate::*;
use linerate_block::{Buffer, Null, Ram, Tag};
use linerate_wire::scsi::{Cdb, CdbBytes, Transfer, asc};
use std::cell::RefCell;
use std::rc::Rc;

fn stuck() -> (Bench, Rc<RefCell<Diary>>) {
    let (backend, diary) = Slow::new(1 << 20, |_| {});
    let bench = Bench::new(backend);
    diary.borrow_mut().stuck = true;
    (bench, diary)
}

fn read_at(lba: u64) -> CdbBytes {
    Cdb::Read(Transfer::new(lba, 1)).bytes().unwrap()
}

impl Bench {
    /// Begins a read that does not end yet.
    fn begin(&mut self, who: PeerId, lba: u64, attribute: TaskAttribute) -> Tag {
        let cdb = read_at(lba);
        let task = Task { attribute, ..self.task(who, lun(0), &cdb, 0, 512) };
        assert!(matches!(self.disks.command(0, &task), Step::Pending));
        task.tag
    }

    /// Begins a write, and gives the buffer that its data belongs in.
    fn begin_write(&mut self, who: PeerId) -> (Tag, Buffer) {
        self.ask_to_write(who, &Cdb::Write(Transfer::new(0, 1)))
    }

    fn ask_to_write(&mut self, who: PeerId, cdb: &Cdb) -> (Tag, Buffer) {
        let cdb = cdb.bytes().unwrap();
        let task = self.task(who, lun(0), &cdb, 512, 0);
        let Step::Receive { buffer } = self.disks.command(0, &task) else { panic!("no data is asked for") };
        (task.tag, buffer)
    }

    /// The data of a write has come: it does not end yet.
    fn fill(&mut self, tag: Tag, mut buffer: Buffer, byte: u8) -> Tag {
        buffer.bytes_mut().fill(byte);
        assert!(matches!(self.disks.received(0, tag, Some(buffer)), Step::Pending));
        tag
    }

    /// All that has ended: the tag, and the status of what has no data.
    fn ended(&mut self) -> Vec<(Tag, u8)> {
        let mut ended = Vec::new();
        while let Some((tag, step)) = self.disks.poll(0) {
            match step {
                Step::Send { buffer, then } => {
                    self.disks.give_back(buffer);
                    ended.push((tag, then.status));
                }
                Step::End(response) => ended.push((tag, response.status)),
                step => panic!("{step:?}"),
            }
        }
        ended
    }

    fn manage(&mut self, who: PeerId, function: Function) -> (FunctionResponse, Vec<Tag>) {
        let mut aborted = Vec::new();
        let response = self.disks.manage(0, who, lun(0), function, &mut |tag| aborted.push(tag));
        (response, aborted)
    }
}

#[test]
fn ordered_tasks_and_the_head_of_the_queue() {
    // SAM-5, clause 8.6.
    use TaskAttribute::{HeadOfQueue, Ordered, Simple};
    let (mut bench, diary) = stuck();
    let tags = [
        bench.begin(ALICE, 0, Simple),
        bench.begin(BOB, 1, Simple),
        bench.begin(ALICE, 2, Ordered),
        bench.begin(BOB, 3, Simple),
        bench.begin(ALICE, 4, HeadOfQueue),
    ];
    assert_eq!(diary.borrow().asked, ["read 0 1", "read 1 1", "read 4 1"]);
    diary.borrow_mut().stuck = false;
    let ended = bench.ended();
    assert_eq!(diary.borrow().asked[3..], ["read 2 1", "read 3 1"]);
    assert_eq!(ended[3..], [(tags[2], 0), (tags[3], 0)]);
    // Commands that need no operation wait too.
    diary.borrow_mut().stuck = true;
    let ordered = bench.begin(ALICE, 5, Ordered);
    let ready = bench.task(BOB, lun(0), &[0; 16], 0, 0);
    assert!(matches!(bench.disks.command(0, &ready), Step::Pending));
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(ordered, 0), (ready.tag, 0)]);
    // There is no auto contingent allegiance (clause 8.6.5).
    let aca = Task { attribute: TaskAttribute::Aca, ..bench.task(ALICE, lun(0), &[0; 16], 0, 0) };
    let Step::End(response) = bench.disks.command(0, &aca) else { panic!("it is done") };
    assert_eq!(response.parsed_sense().unwrap().code, asc::INVALID_MESSAGE);
}

#[test]
fn an_ordered_task_waits_until_the_memory_before_it_is_read() {
    // SAM-5, clauses 8.6.2 to 8.6.4: a READ of memory has not ended while its frames are made.
    use TaskAttribute::{HeadOfQueue, Ordered, Simple};
    let mut bench = Bench::ram();
    let cdb = read_at(0);
    let out = Cdb::Write(Transfer::new(0, 1)).bytes().unwrap();
    let ask = |bench: &mut Bench, attribute, write: bool| {
        let cdb = if write { &out } else { &cdb };
        let task = Task { attribute, ..bench.task(ALICE, lun(0), cdb, if write { 512 } else { 0 }, 512) };
        (task.tag, bench.disks.command(0, &task))
    };
    let (read, step) = ask(&mut bench, Simple, false);
    assert!(matches!(step, Step::SendMemory { .. }));
    let (ordered, step) = ask(&mut bench, Ordered, true);
    assert!(matches!(step, Step::Pending));
    let (simple, step) = ask(&mut bench, Simple, true);
    assert!(matches!(step, Step::Pending));
    let (head, step) = ask(&mut bench, HeadOfQueue, false);
    assert!(matches!(step, Step::SendMemory { .. }), "it waits for nobody");
    assert!(!bench.disks.sent(read) && !bench.disks.sent(read), "told twice, it is one");
    assert!(bench.disks.poll(0).is_none());
    assert!(bench.disks.sent(head));
    assert!(matches!(bench.disks.poll(0), Some((tag, Step::ReceiveMemory { .. })) if tag == ordered));
    assert!(bench.disks.poll(0).is_none(), "the last waits for the ordered one");
    assert!(matches!(bench.disks.received(0, ordered, None), Step::End(_)));
    assert!(matches!(bench.disks.poll(0), Some((tag, Step::ReceiveMemory { .. })) if tag == simple));
    bench.disks.abort(simple, None);
    // An ordered READ is not overtaken either, and a reset leaves nobody behind it.
    let (read, _) = ask(&mut bench, Ordered, false);
    let (write, step) = ask(&mut bench, Simple, true);
    assert!(matches!(step, Step::Pending));
    assert_eq!(bench.manage(ALICE, Function::LogicalUnitReset), (FunctionResponse::Complete, vec![write]));
    assert!(!bench.disks.sent(read));
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    bench.send(&Cdb::Write(Transfer::new(0, 1)), &[1; 512]).good();
    // Nor does a nexus that is lost.
    let (_, step) = ask(&mut bench, Ordered, false);
    assert!(matches!(step, Step::SendMemory { .. }));
    bench.disks.nexus_lost(ALICE);
    assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    bench.by(BOB, &Cdb::Write(Transfer::new(0, 1)), &[1; 512]).good();
}

#[test]
fn an_aborted_task_has_no_step_and_its_operation_reaches_nobody() {
    // SAM-5, clause 7.2.
    let (mut bench, diary) = stuck();
    let first = bench.begin(ALICE, 0, TaskAttribute::Simple);
    let ordered = bench.begin(ALICE, 1, TaskAttribute::Ordered);
    let last = bench.begin(ALICE, 2, TaskAttribute::Simple);
    let (write, buffer) = {
        bench.disks.abort(ordered, None);
        assert_eq!(bench.ended(), [], "the last may begin now, but does not end");
        bench.begin_write(ALICE)
    };
    assert_eq!(diary.borrow().asked, ["read 0 1", "read 2 1"]);
    bench.disks.abort(first, None);
    bench.disks.abort(write, Some(buffer));
    // Another task of the same tag gets its own data.
    bench.next = first.0 - 1;
    let again = bench.begin(BOB, 3, TaskAttribute::Simple);
    assert_eq!(again, first);
    diary.borrow_mut().stuck = false;
    let mut ended = bench.ended();
    ended.sort();
    assert_eq!(ended, [(again, 0), (last, 0)]);
    // A step that nobody has asked for yet is gone with its task.
    let task = bench.begin(ALICE, 4, TaskAttribute::Simple);
    bench.disks.collect();
    bench.disks.abort(task, None);
    assert_eq!(bench.ended(), []);
    assert_eq!(bench.disks.status().next().unwrap().in_flight, 0);
    bench.disks.abort(Tag(u32::MAX), None);
}

#[test]
fn a_write_waits_for_what_an_aborted_one_has_left_behind() {
    // SAM-5, clause 7.2: a task that was aborted changes nothing any more. What the back end was already asked for it may
    // still do, but not after what its initiator writes next.
    let (mut bench, diary) = stuck();
    let write = |lba| Cdb::Write(Transfer::new(lba, 1));
    let begin = |bench: &mut Bench, lba, byte| {
        let (tag, buffer) = bench.ask_to_write(ALICE, &write(lba));
        bench.fill(tag, buffer, byte)
    };
    let first = begin(&mut bench, 5, 1);
    bench.disks.abort(first, None);
    let second = begin(&mut bench, 5, 2);
    let elsewhere = begin(&mut bench, 6, 3);
    assert_eq!(diary.borrow().asked, ["write 5 1", "write 6 1"], "the second waits, others do not");
    // One that waits can be aborted too, and so can the session of the one it waits for.
    bench.disks.abort(second, None);
    let third = begin(&mut bench, 5, 4);
    bench.disks.nexus_lost(BOB);
    bench.disks.abort(elsewhere, None);
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(third, 0)]);
    assert_eq!(diary.borrow().asked, ["write 5 1", "write 6 1", "write 5 1"]);
    let cdb = Cdb::Read(Transfer::new(5, 2));
    let data = bench.send(&cdb, &[]).good();
    assert_eq!((data[0], data[512]), (4, 3));
    assert_eq!(bench.disks.lent(), 0);
}

#[test]
fn abort_task_set_ends_only_the_own_tasks() {
    // SAM-5, clause 7.3.
    let (mut bench, diary) = stuck();
    let (hers, his) = (bench.begin(ALICE, 0, TaskAttribute::Simple), bench.begin(BOB, 1, TaskAttribute::Simple));
    assert_eq!(bench.manage(ALICE, Function::AbortTaskSet), (FunctionResponse::Complete, vec![hers]));
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(his, 0)]);
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
}

#[test]
fn a_function_is_for_one_unit() {
    // SAM-5, clauses 7.2 to 7.7.
    for function in [Function::AbortTaskSet, Function::ClearTaskSet, Function::LogicalUnitReset] {
        let (mut bench, diary) = stuck();
        let (other, others) = Slow::new(1 << 20, |geometry| geometry.serial = 10);
        bench.disks.add(1, Box::new(other)).unwrap();
        for number in [0, 1] {
            while bench.raw(ALICE, lun(number), &[0; 16], &[], 0).response.status != Response::GOOD {}
        }
        others.borrow_mut().stuck = true;
        let here = bench.begin(ALICE, 0, TaskAttribute::Simple);
        let cdb = read_at(0);
        let there = Task { lun: lun(1), ..bench.task(ALICE, lun(1), &cdb, 0, 512) };
        assert!(matches!(bench.disks.command(0, &there), Step::Pending));
        assert_eq!(bench.manage(ALICE, function), (FunctionResponse::Complete, vec![here]));
        assert_eq!(bench.raw(ALICE, lun(1), &[0; 16], &[], 0).response.status, Response::GOOD, "it is not told of it");
        (diary.borrow_mut().stuck, others.borrow_mut().stuck) = (false, false);
        assert_eq!(bench.ended(), [(there.tag, 0)], "{function:?}");
    }
}

#[test]
fn a_target_reset_is_of_the_units_that_are_seen() {
    // The rule is in the description of `Disks`.
    let (mut bench, diary) = stuck();
    bench.disks.add(1, Box::new(Null::new(4096, 512, 1).unwrap())).unwrap();
    bench.disks.allow(wwpn(ALICE), &[1]);
    bench.disks.allow(wwpn(BOB), &[0, 1]);
    for number in [0, 1] {
        while bench.raw(BOB, lun(number), &[0; 16], &[], 0).response.status != Response::GOOD {}
    }
    let his = bench.begin(BOB, 0, TaskAttribute::Simple);
    assert_eq!(bench.manage(ALICE, Function::TargetReset), (FunctionResponse::Complete, vec![]));
    assert_eq!(bench.raw(BOB, lun(0), &[0; 16], &[], 0).response.status, Response::GOOD);
    assert_eq!(bench.raw(BOB, lun(1), &[0; 16], &[], 0).why(), (6, asc::RESET));
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(his, 0)]);
}

#[test]
fn clear_task_set_ends_others_tasks_with_a_status() {
    // SAM-5, clauses 7.4 and 5.3.1: TAS.
    let (mut bench, diary) = stuck();
    let hers = bench.begin(ALICE, 0, TaskAttribute::Simple);
    let his = bench.begin(BOB, 1, TaskAttribute::Simple);
    let (write, buffer) = bench.begin_write(BOB);
    assert_eq!(bench.manage(ALICE, Function::ClearTaskSet), (FunctionResponse::Complete, vec![hers]));
    assert_eq!(bench.ended(), [(his, Response::TASK_ABORTED)]);
    // The transport has the buffer of the write until its data is there.
    let step = bench.disks.received(0, write, Some(buffer));
    assert!(matches!(step, Step::End(Response { status: Response::TASK_ABORTED, .. })));
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), []);
    assert_eq!(diary.borrow().asked, ["read 0 1", "read 1 1"], "nothing is written");
}

#[test]
fn a_reset_unit_has_no_task_and_tells_everybody() {
    // SAM-5, clauses 7.6 and 6.3.3.
    let (mut bench, diary) = stuck();
    let hers = bench.begin(ALICE, 0, TaskAttribute::Ordered);
    let waits = bench.begin(ALICE, 1, TaskAttribute::Simple);
    assert_eq!(bench.manage(ALICE, Function::LogicalUnitReset), (FunctionResponse::Complete, vec![hers, waits]));
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), []);
    for who in [ALICE, BOB] {
        assert_eq!(bench.by(who, &Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
        bench.by(who, &Cdb::TestUnitReady, &[]).good();
    }
    // CLEAR ACA is not known (clause 7.5); a target reset is one of each unit.
    assert_eq!(bench.manage(ALICE, Function::ClearAca).0, FunctionResponse::Rejected);
    assert_eq!(bench.manage(ALICE, Function::TargetReset).0, FunctionResponse::Complete);
    assert_eq!(bench.by(BOB, &Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
    let none = bench.disks.manage(0, ALICE, lun(9), Function::AbortTaskSet, &mut |_| {});
    assert_eq!(none, FunctionResponse::IncorrectLun);
}

#[test]
fn a_write_into_memory_stops_when_somebody_else_resets_the_unit() {
    // SAM-5, clause 7.7: what its initiator still sends must not undo what is written after the reset.
    let mut bench = Bench::new(Ram::new(1 << 20, 512, false, 9).unwrap());
    let cdb = Cdb::Write(Transfer::new(0, 2)).bytes().unwrap();
    let task = bench.task(ALICE, lun(0), &cdb, 1024, 0);
    assert!(matches!(bench.disks.command(0, &task), Step::ReceiveMemory { offset: 0, len: 1024 }));
    assert_eq!(bench.manage(BOB, Function::LogicalUnitReset), (FunctionResponse::Complete, vec![]));
    assert_eq!(bench.ended(), [(task.tag, Response::TASK_ABORTED)], "before its data is there");
}

/// Ended twice: by INVALID FIELD IN COMMAND INFORMATION UNIT for its data, and again by TASK ABORTED.
#[test]
fn a_write_into_memory_whose_data_is_there_before_the_news_ends_once() {
    let mut bench = Bench::new(Ram::new(1 << 20, 512, false, 9).unwrap());
    let cdb = Cdb::Write(Transfer::new(0, 2)).bytes().unwrap();
    let tasks = [bench.task(ALICE, lun(0), &cdb, 1024, 0), bench.task(ALICE, lun(0), &cdb, 1024, 0)];
    for task in &tasks {
        assert!(matches!(bench.disks.command(0, task), Step::ReceiveMemory { .. }));
    }
    let [first, task] = tasks;
    bench.manage(BOB, Function::LogicalUnitReset);
    let step = bench.disks.received(0, task.tag, None);
    assert!(matches!(step, Step::End(Response { status: Response::TASK_ABORTED, .. })), "{step:?}");
    assert_eq!(bench.ended(), [(first.tag, Response::TASK_ABORTED)]);
    // And no other word of it.
    let step = bench.disks.received(0, task.tag, None);
    assert!(matches!(step, Step::End(Response { status: Response::CHECK_CONDITION, .. })));
}

#[test]
fn a_lost_nexus_takes_its_tasks_with_it() {
    // SAM-5, clause 6.3.4.
    let (mut bench, diary) = stuck();
    let hers = bench.begin(ALICE, 0, TaskAttribute::Ordered);
    let his = bench.begin(BOB, 1, TaskAttribute::Simple);
    bench.disks.nexus_lost(ALICE);
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(his, 0)]);
    assert_ne!(hers, his);
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (5, asc::LUN), "it is no nexus any more");
    bench.disks.nexus(ALICE, wwpn(ALICE));
    assert_eq!(bench.send(&Cdb::TestUnitReady, &[]).why(), (6, asc::RESET));
}

#[test]
fn a_tag_that_comes_again_replaces_its_task() {
    let (mut bench, diary) = stuck();
    let first = bench.begin(ALICE, 0, TaskAttribute::Simple);
    bench.next = first.0 - 1;
    assert_eq!(bench.begin(ALICE, 1, TaskAttribute::Ordered), first);
    diary.borrow_mut().stuck = false;
    assert_eq!(bench.ended(), [(first, 0)]);
    // Data that was not asked for is refused.
    let Step::End(response) = bench.disks.received(0, first, Some(Buffer::new(512))) else { panic!("it is taken") };
    assert_eq!(response.parsed_sense().unwrap().code, asc::INFORMATION_UNIT);
}
