//! One disk through two ports of a target.

use super::slow::{Diary, Slow};
use super::support::{ALICE, CONFIG, lun, wwpn};
use crate::*;
use linerate_block::{Backend, Ram, Tag};
use linerate_wire::Wwn;
use linerate_wire::scsi::{Cdb, ReserveParameters, Transfer};
use std::cell::RefCell;
use std::rc::Rc;

const NAMES: [Wwn; 2] = [Wwn(0x2000_0200_0000_00f1), Wwn(0x2000_0200_0000_00f2)];

/// Two ports of a disk, and Alice logged in at both.
fn two(backend: impl Backend + 'static) -> [DiskPort; 2] {
    let mut disks = Disks::new(&CONFIG);
    disks.add(0, Box::new(backend)).unwrap();
    let mut ports: [DiskPort; 2] = DiskPort::over(disks, &NAMES).try_into().ok().unwrap();
    for port in &mut ports {
        port.nexus(ALICE, wwpn(ALICE));
        let Step::End(told) = begin(port, 0, &Cdb::TestUnitReady, 0) else { panic!("it is told of a reset") };
        assert_eq!(told.status, Response::CHECK_CONDITION);
    }
    ports
}

fn slow() -> ([DiskPort; 2], Rc<RefCell<Diary>>) {
    let (slow, diary) = Slow::new(1 << 20, |_| ());
    (two(slow), diary)
}

/// Begins a command of Alice.
fn begin(port: &mut DiskPort, tag: u32, cdb: &Cdb, out: u32) -> Step {
    let mut bytes = cdb.bytes().unwrap().to_vec();
    bytes.resize(bytes.len().max(16), 0);
    let attribute = TaskAttribute::Simple;
    let data_in = if out == 0 { 4096 } else { 0 };
    port.command(0, &Task { tag: Tag(tag), nexus: ALICE, lun: lun(0), cdb: &bytes, attribute, data_out: out, data_in })
}

/// Data of a command that ends at once.
fn data(port: &mut DiskPort, cdb: &Cdb) -> Vec<u8> {
    let Step::Send { buffer, .. } = begin(port, 1, cdb, 0) else { panic!("it has no data") };
    let data = buffer.bytes().to_vec();
    port.give_back(buffer);
    data
}

fn read(lba: u64) -> Cdb {
    Cdb::Read(Transfer::new(lba, 1))
}

/// SPC-4, clauses 7.8.5 and 6.37: the unit has one name, each port its own, and the group has both.
#[test]
fn the_unit_has_one_name_and_each_port_its_own() {
    let mut ports = two(Ram::new(4096, 512, false, 1).unwrap());
    let page = Cdb::Inquiry { page: Some(0x83), allocation: 4096 };
    let [one, two] = [0, 1].map(|i| data(&mut ports[i], &page));
    let has = |page: &[u8], part: &[u8]| page.windows(part.len()).any(|window| window == part);
    for (page, own, number) in [(&one, NAMES[0], 1), (&two, NAMES[1], 2)] {
        assert!(has(page, &own.0.to_be_bytes()) && has(page, &[1, 0x94, 0, 4, 0, 0, 0, number]));
    }
    assert!(!has(&one, &NAMES[1].0.to_be_bytes()) && !has(&two, &NAMES[0].0.to_be_bytes()));
    // The designators of the unit come first: the vendor's, and NAA.
    let unit = 4 + 4 + usize::from(one[7]);
    assert_eq!(one[..unit + 4 + usize::from(one[unit + 3])], two[..unit + 4 + usize::from(two[unit + 3])]);
    for port in &mut ports {
        let groups = data(port, &Cdb::ReportTargetPortGroups { format: 0, allocation: 4096 });
        assert_eq!(groups[groups.len() - 9..], [2, 0, 0, 0, 1, 0, 0, 0, 2]);
        assert_eq!(data(port, &Cdb::Inquiry { page: None, allocation: 96 })[6] & 0x10, 0x10, "MULTIP");
    }
}

/// SPC-4, clause 5.13.7: what is registered through one port is not through the other, and the reservation holds at both.
#[test]
fn reservations_are_in_common_and_belong_to_a_nexus() {
    let mut ports = two(Ram::new(4096, 512, false, 1).unwrap());
    let act = |port: &mut DiskPort, action: u8, kind: u8, key: u64, action_key: u64| {
        let cdb = Cdb::PersistentReserveOut { action, scope: 0, kind, len: 24 };
        let mut buffer = match begin(port, 1, &cdb, 24) {
            Step::Receive { buffer } => buffer,
            Step::End(response) => return response.status,
            other => panic!("{other:?}"),
        };
        buffer.bytes_mut().copy_from_slice(&ReserveParameters { key, action_key, ..Default::default() }.bytes());
        let Step::End(response) = port.received(0, Tag(1), Some(buffer)) else { panic!("it ends") };
        response.status
    };
    let [one, two] = &mut ports;
    assert_eq!(act(one, 0, 0, 0, 5), Response::GOOD);
    assert_eq!(act(two, 1, 1, 5, 0), Response::RESERVATION_CONFLICT, "it is not registered here");
    assert_eq!(act(one, 1, 1, 5, 0), Response::GOOD, "WRITE EXCLUSIVE");
    let write = |port: &mut DiskPort| begin(port, 2, &Cdb::Write(Transfer::new(0, 1)), 512);
    let Step::End(refused) = write(two) else { panic!("another nexus writes") };
    assert_eq!(refused.status, Response::RESERVATION_CONFLICT);
    assert!(matches!(write(one), Step::ReceiveMemory { .. }));
    one.abort(Tag(2), None);
    assert_eq!(act(two, 0, 0, 0, 5), Response::GOOD);
    let full = data(two, &Cdb::PersistentReserveIn { action: 3, allocation: 4096 });
    let described: Vec<_> = full[8..].chunks(48).map(|one| (one[12], one[19])).collect();
    assert_eq!(described, [(1, 1), (0, 2)], "R_HOLDER and the relative target port");
}

/// A port that is polled first passes on what another one's tasks are to do next.
#[test]
fn a_step_reaches_the_port_of_its_task() {
    let (mut ports, diary) = slow();
    let [one, two] = &mut ports;
    assert!(matches!(begin(one, 7, &read(0), 0), Step::Pending) && matches!(begin(two, 7, &read(1), 0), Step::Pending));
    assert_eq!(diary.borrow().open.len(), 2);
    let (tag, Step::Send { buffer, .. }) = one.poll(0).unwrap() else { panic!("data is read") };
    assert_eq!(tag, Tag(7));
    one.give_back(buffer);
    assert!(one.poll(0).is_none() && !one.has_steps());
    assert!(two.has_steps() && two.poll_timeout() == Some(0));
    let (tag, Step::Send { buffer, .. }) = two.poll(0).unwrap() else { panic!("data is read") };
    assert_eq!(tag, Tag(7));
    two.give_back(buffer);
    assert!(two.poll(0).is_none() && !two.has_steps());
    assert_eq!(two.disks().lent(), 0);
}

/// A task that is aborted while its step waits for its port has no step, and gives its buffer back.
#[test]
fn a_step_that_waits_ends_with_its_task() {
    let (mut ports, _) = slow();
    let [one, two] = &mut ports;
    assert!(matches!(begin(two, 3, &read(1), 0), Step::Pending));
    assert!(one.poll(0).is_none() && two.has_steps());
    two.abort(Tag(3), None);
    assert!(!two.has_steps() && two.poll(0).is_none());
    assert_eq!(two.disks().lent(), 0);
    // And one that another port's initiator has ended.
    assert!(matches!(begin(two, 4, &Cdb::Write(Transfer::new(0, 1)), 512), Step::Receive { .. }));
    two.abort(Tag(4), Some(linerate_block::Buffer::new(512)));
    assert!(matches!(begin(two, 5, &read(1), 0), Step::Pending));
    let done = one.manage(0, ALICE, lun(0), Function::ClearTaskSet, &mut |_| panic!("it is of the other port"));
    assert_eq!(done, FunctionResponse::Complete);
    assert!(one.poll(0).is_none() && two.has_steps());
    let (tag, Step::End(response)) = two.poll(0).unwrap() else { panic!("it has ended") };
    assert_eq!((tag, response.status), (Tag(5), Response::TASK_ABORTED));
}

/// A port's nexus ends alone.
#[test]
fn a_nexus_is_lost_at_its_port_alone() {
    let (mut ports, _) = slow();
    let [one, two] = &mut ports;
    one.nexus_lost(ALICE);
    let Step::End(response) = begin(one, 1, &Cdb::TestUnitReady, 0) else { panic!("it ends") };
    assert_eq!(response.status, Response::CHECK_CONDITION);
    let Step::End(response) = begin(two, 1, &Cdb::TestUnitReady, 0) else { panic!("it ends") };
    assert_eq!(response.status, Response::GOOD);
}
