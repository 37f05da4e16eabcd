//! What a unit knows after a restart.

use super::support::*;
use crate::*;
use linerate_block::{Ram, Tag};
use linerate_wire::scsi::{Cdb, ReserveParameters, Transfer, asc};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// A keeper's memory.
#[derive(Debug, Default)]
struct Store {
    documents: HashMap<String, Vec<u8>>,
    stores: usize,
    full: bool,
    /// A store does not end.
    stuck: bool,
    /// Outcome of the store under way.
    under_way: Option<bool>,
    damaged: Vec<String>,
}

struct Shelf(Rc<RefCell<Store>>);

impl Keeper for Shelf {
    fn load(&mut self, unit: &UnitName) -> Option<Vec<u8>> {
        self.0.borrow().documents.get(&unit.naa().to_string()).cloned()
    }

    fn store(&mut self, unit: &UnitName, document: Vec<u8>) {
        let mut store = self.0.borrow_mut();
        assert_eq!(store.under_way, None, "one at a time");
        if !store.full {
            store.stores += 1;
            store.documents.insert(unit.naa().to_string(), document);
        }
        store.under_way = Some(!store.full);
    }

    fn stored(&mut self) -> Option<bool> {
        let mut store = self.0.borrow_mut();
        if store.stuck { None } else { store.under_way.take() }
    }

    fn damaged(&mut self, unit: &UnitName) {
        self.0.borrow_mut().damaged.push(unit.naa().to_string());
    }
}

/// A disk as after a start of the program.
fn start(store: &Rc<RefCell<Store>>) -> Bench {
    let mut bench = Bench { disks: Disks::new(&CONFIG), next: 0 };
    bench.disks.keep_with(Box::new(Shelf(store.clone())));
    bench.disks.add(0, Box::new(Ram::new(1 << 20, 512, false, 0x1234).unwrap())).unwrap();
    for peer in [ALICE, BOB] {
        bench.disks.nexus(peer, wwpn(peer));
        assert_eq!(bench.raw(peer, lun(0), &[0; 16], &[], 0).why(), (6, asc::RESET));
    }
    bench
}

fn out(bench: &mut Bench, who: PeerId, action: u8, kind: u8, keys: (u64, u64), persist: bool) -> Ended {
    let list = ReserveParameters { key: keys.0, action_key: keys.1, persist, ..Default::default() };
    bench.by(who, &Cdb::PersistentReserveOut { action, scope: 0, kind, len: 24 }, &list.bytes())
}

fn report(bench: &mut Bench, action: u8) -> Vec<u8> {
    bench.send(&Cdb::PersistentReserveIn { action, allocation: 4096 }, &[]).good()
}

#[test]
fn a_reservation_that_is_to_last_outlives_the_program() {
    // SPC-4, clauses 5.13.5 and 6.16.3: APTPL.
    let store = Rc::default();
    let mut bench = start(&store);
    assert_eq!(report(&mut bench, 2), [0, 8, 1, 0x80, 0xea, 1, 0, 0], "PTPL_C");
    out(&mut bench, ALICE, 0, 0, (0, 7), true).good();
    out(&mut bench, BOB, 0, 0, (0, 8), true).good();
    out(&mut bench, ALICE, 1, 3, (7, 0), false).good();
    assert_eq!((report(&mut bench, 2)[3], store.borrow().stores), (0x81, 3), "PTPL_A; stored before GOOD");
    out(&mut bench, ALICE, 1, 3, (7, 0), false).good();
    assert_eq!(store.borrow().stores, 3, "nothing has changed");
    let mut bench = start(&store);
    assert_eq!(report(&mut bench, 0)[..8], [0, 0, 0, 0, 0, 0, 0, 16], "PRGENERATION begins anew");
    assert_eq!((report(&mut bench, 0)[15], report(&mut bench, 0)[23]), (7, 8));
    assert_eq!((report(&mut bench, 1)[15], report(&mut bench, 1)[21], report(&mut bench, 2)[3]), (7, 3, 0x81));
    let read = Cdb::Read(Transfer::new(0, 1));
    assert_eq!(bench.by(BOB, &read, &[]).response.status, Response::RESERVATION_CONFLICT);
    bench.send(&read, &[]).good();
    // CLEAR lasts as well.
    out(&mut bench, BOB, 3, 0, (8, 0), false).good();
    let mut bench = start(&store);
    assert_eq!(report(&mut bench, 0).len(), 8);
    bench.by(BOB, &read, &[]).good();
}

#[test]
fn the_last_registration_decides_whether_it_lasts() {
    let store = Rc::default();
    let mut bench = start(&store);
    out(&mut bench, ALICE, 0, 0, (0, 7), false).good();
    assert_eq!(store.borrow().stores, 0);
    out(&mut bench, BOB, 0, 0, (0, 8), true).good();
    assert_eq!(report(&mut start(&store), 0).len(), 24, "of all");
    out(&mut bench, ALICE, 6, 0, (0, 9), false).good();
    let mut bench = start(&store);
    assert_eq!((report(&mut bench, 0).len(), report(&mut bench, 2)[3]), (8, 0x80));
}

#[test]
fn what_cannot_be_kept_is_not_done() {
    let store: Rc<RefCell<Store>> = Rc::default();
    let mut bench = start(&store);
    out(&mut bench, ALICE, 0, 0, (0, 7), true).good();
    out(&mut bench, BOB, 0, 0, (0, 8), true).good();
    store.borrow_mut().full = true;
    for (action, kind, keys) in [(0, 0, (7, 9)), (1, 1, (7, 0)), (4, 1, (7, 8)), (3, 0, (7, 0))] {
        assert_eq!(out(&mut bench, ALICE, action, kind, keys, true).why(), (4, asc::TARGET_FAILURE));
    }
    assert_eq!((report(&mut bench, 0)[15], report(&mut bench, 0)[23], report(&mut bench, 1).len()), (7, 8, 8));
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    let set = Cdb::SetIdentifyingInformation { kind: 0, len: 2 };
    assert_eq!(bench.send(&set, b"no").why(), (4, asc::TARGET_FAILURE));
    let info = Cdb::ReportIdentifyingInformation { kind: 0, allocation: 99 };
    assert_eq!(bench.by(BOB, &info, &[]).good().len(), 4, "and nobody is told of it");
}

/// A command with a list of parameters, as far as it gets.
fn begin(bench: &mut Bench, who: PeerId, cdb: &Cdb, list: &[u8]) -> (Tag, Step) {
    let bytes = cdb.bytes().unwrap();
    let mut padded = bytes.to_vec();
    padded.resize(16, 0);
    let task = bench.task(who, lun(0), &padded, list.len(), 0);
    let tag = task.tag;
    let step = match bench.disks.command(0, &task) {
        Step::Receive { mut buffer } => {
            buffer.bytes_mut().copy_from_slice(list);
            bench.disks.received(0, tag, Some(buffer))
        }
        step => step,
    };
    (tag, step)
}

fn begin_out(bench: &mut Bench, who: PeerId, action: u8, keys: (u64, u64)) -> Tag {
    let list = ReserveParameters { key: keys.0, action_key: keys.1, persist: true, ..Default::default() };
    let cdb = Cdb::PersistentReserveOut { action, scope: 0, kind: 1, len: 24 };
    let (tag, step) = begin(bench, who, &cdb, &list.bytes());
    assert!(matches!(step, Step::Pending), "{step:?}");
    tag
}

#[test]
fn a_change_is_answered_when_it_is_kept_and_other_commands_go_on_meanwhile() {
    let store: Rc<RefCell<Store>> = Rc::default();
    let mut bench = start(&store);
    store.borrow_mut().stuck = true;
    let first = begin_out(&mut bench, ALICE, 0, (0, 7));
    let second = begin_out(&mut bench, BOB, 0, (0, 8));
    let (third, step) = begin(&mut bench, ALICE, &Cdb::SetIdentifyingInformation { kind: 0, len: 0 }, &[]);
    assert!(matches!(step, Step::Pending) && bench.disks.poll(5_000_000).is_none());
    assert_eq!(bench.disks.poll_timeout(), Some(6_000_000), "and it is looked for again");
    assert_eq!(store.borrow().stores, 1);
    bench.by(BOB, &Cdb::Read(Transfer::new(0, 1)), &[]).good();
    assert_eq!(report(&mut bench, 0).len(), 8, "nobody is registered yet");
    store.borrow_mut().stuck = false;
    let good = |step: Option<(Tag, Step)>| match step {
        Some((tag, Step::End(response))) => (tag, response.status),
        step => panic!("{step:?}"),
    };
    assert_eq!(good(bench.disks.poll(0)), (first, Response::GOOD));
    assert_eq!(report(&mut bench, 0)[4..].len(), 4 + 8, "those that waited act in turn");
    assert_eq!(good(bench.disks.poll(0)), (second, Response::GOOD));
    assert_eq!(good(bench.disks.poll(0)), (third, Response::GOOD));
    assert!(bench.disks.poll(0).is_none() && bench.disks.poll_timeout().is_none());
    assert_eq!((report(&mut bench, 0)[15], report(&mut bench, 0)[23], bench.disks.lent()), (7, 8, 0));
}

#[test]
fn a_change_whose_command_is_aborted_while_it_is_stored_is_in_force_then() {
    // Whether a store can be called back nobody knows: what is in force is what is stored.
    let store: Rc<RefCell<Store>> = Rc::default();
    let mut bench = start(&store);
    store.borrow_mut().stuck = true;
    let first = begin_out(&mut bench, ALICE, 0, (0, 7));
    let second = begin_out(&mut bench, BOB, 0, (0, 8));
    bench.disks.abort(first, None);
    bench.disks.abort(second, None);
    // Its tag is another command's.
    bench.next -= 2;
    bench.by(BOB, &Cdb::TestUnitReady, &[]).good();
    store.borrow_mut().stuck = false;
    assert!(bench.disks.poll(0).is_none() && bench.disks.lent() == 0);
    assert_eq!((report(&mut bench, 0).len(), report(&mut bench, 0)[15], store.borrow().stores), (16, 7, 1));
    assert_eq!(report(&mut start(&store), 0).len(), 16);
}

#[test]
fn a_unit_whose_change_is_stored_when_it_is_removed_leaves_after_that() {
    let store: Rc<RefCell<Store>> = Rc::default();
    let mut bench = start(&store);
    store.borrow_mut().stuck = true;
    let tag = begin_out(&mut bench, ALICE, 0, (0, 7));
    bench.disks.remove(0).unwrap();
    assert!(
        matches!(bench.disks.poll(0), Some((ended, Step::End(then))) if ended == tag && then.status == Response::TASK_ABORTED)
    );
    assert!(bench.disks.poll(0).is_none() && bench.disks.leaving() == 1);
    store.borrow_mut().stuck = false;
    assert!(bench.disks.poll(0).is_none() && bench.disks.leaving() == 0);
}

#[test]
fn identifying_information_is_kept() {
    // SPC-4, clause 6.43.
    let store = Rc::default();
    let mut bench = start(&store);
    bench.send(&Cdb::SetIdentifyingInformation { kind: 0, len: 3 }, &[0, 0xff, 7]).good();
    bench.send(&Cdb::SetIdentifyingInformation { kind: 2, len: 5 }, b"disk\0").good();
    let mut bench = start(&store);
    let mut info =
        |kind| bench.send(&Cdb::ReportIdentifyingInformation { kind, allocation: 99 }, &[]).good()[4..].to_vec();
    assert_eq!((info(0), info(2)), (vec![0, 0xff, 7], b"disk\0".to_vec()));
    assert_eq!(report(&mut bench, 2)[3], 0x80, "nothing else is");
}

#[test]
fn a_damaged_document_is_told_and_counts_for_nothing() {
    let store: Rc<RefCell<Store>> = Rc::default();
    let mut bench = start(&store);
    out(&mut bench, ALICE, 0, 0, (0, 7), true).good();
    out(&mut bench, ALICE, 1, 1, (7, 0), false).good();
    bench.send(&Cdb::SetIdentifyingInformation { kind: 0, len: 1 }, &[9]).good();
    let name = "3000000000001234".to_string();
    let whole = store.borrow().documents[&name].clone();
    let text = String::from_utf8(whole.clone()).unwrap();
    assert!(text.starts_with("linerate unit 1\nname 3000000000001234\nkey 2000020000000001 0 0000000000000007\n"));
    // Cut at any byte, or with any bit changed, it is not believed.
    let cut = (0..whole.len()).map(|len| whole[..len].to_vec());
    let changed = (0..whole.len() * 8).map(|bit| {
        let mut other = whole.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        other
    });
    let mut count = 0;
    for document in cut.chain(changed) {
        store.borrow_mut().documents.insert(name.clone(), document);
        assert_eq!(report(&mut start(&store), 0).len(), 8);
        count += 1;
    }
    assert_eq!(store.borrow().damaged, vec![name.clone(); count]);
    // Neither is one with a right sum that is another unit's, or that cannot have been.
    let sum = |text: &str| {
        text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
    };
    let body = &text[..text.rfind("end ").unwrap()];
    let key = "key 2000020000000001 0 0000000000000007\n";
    for (from, to) in [
        ("name 3000000000001234", "name 3000000000001235"),
        (key, ""),
        (key, "key 2000020000000001 0 0000000000000000\n"),
        (key, &[key, key].concat()),
        (key, "key 2000020000000001 65536 0000000000000007\n"),
        ("held 1 2000020000000001 0", "held 1 2000020000000001 1"),
        ("held 1", "held 2"),
        ("unit 1", "unit 2"),
        ("persist", "persists"),
    ] {
        let body = body.replacen(from, to, 1);
        let document = format!("{body}end {:016x}\n", sum(&body));
        store.borrow_mut().documents.insert(name.clone(), document.into_bytes());
        let damaged = store.borrow().damaged.len();
        assert_eq!((report(&mut start(&store), 0).len(), store.borrow().damaged.len()), (8, damaged + 1), "{from}");
    }
    store.borrow_mut().documents.insert(name, whole);
    assert_eq!(report(&mut start(&store), 0).len(), 16);
}
