//! SCSI: data of every format through its parser; and any commands, data, aborts and functions to disks in memory and behind
//! a slow back end: every task ends once, and nothing panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_block::{Backend, Completion, Geometry, Null, Operation, Ram, Tag};
use linerate_fcoe::*;
use linerate_wire::Wwn;
use linerate_wire::scsi::*;
use std::collections::HashMap;
use std::hint::black_box;

/// Memory that does not say so, and ends the youngest operation first.
struct Slow {
    ram: Ram,
    geometry: Geometry,
    open: Vec<(Tag, Operation)>,
}

impl Backend for Slow {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn submit(&mut self, tag: Tag, operation: Operation) {
        self.open.push((tag, operation));
    }

    fn complete(&mut self) -> Option<Completion> {
        let (tag, operation) = self.open.pop()?;
        self.ram.submit(tag, operation);
        self.ram.complete()
    }
}

fn parsers(bytes: &[u8]) {
    if let Ok(cdb) = Cdb::parse(bytes) {
        let written = cdb.bytes().expect("what was parsed can be written");
        assert_eq!(Cdb::parse(&written), Ok(cdb));
    }
    if let Ok(sense) = Sense::parse(bytes) {
        let (descriptors, len) = sense.descriptors();
        let again = Sense::parse(&descriptors[..len]).expect("what was made parses");
        assert_eq!((again.key, again.code, again.information), (sense.key, sense.code, sense.information));
    }
    if let Ok(page) = VpdPage::parse(bytes) {
        black_box(Designator::all(page.body).count());
        let _ = black_box((BlockLimits::parse(page.body), ExtendedInquiry::parse(page.body)));
        let _ = black_box((BlockCharacteristics::parse(page.body), BlockProvisioning::parse(page.body)));
    }
    for ten in [false, true] {
        if let Ok((header, pages)) = parse_mode(ten, bytes) {
            black_box((header, pages.count()));
        }
    }
    let _ = black_box((Inquiry::parse(bytes), Capacity::parse_10(bytes), Capacity::parse_16(bytes)));
    let _ = black_box(ReserveParameters::parse(bytes));
    if let Ok(list) = CopyList::parse(bytes) {
        let mut again = Vec::new();
        list.put(&mut again);
        assert_eq!(CopyList::parse(&again), Ok(list));
    }
    let _ = parse_luns(bytes).map(|(luns, _)| black_box(luns.filter_map(lun_number).count()));
    let _ = parse_unmap(bytes).map(|ranges| black_box(ranges.count()));
}

/// A keeper that stores every other document, and returns them to nobody.
struct Shelf {
    works: bool,
    looks: u8,
}

impl Keeper for Shelf {
    fn load(&mut self, _: &UnitName) -> Option<Vec<u8>> {
        None
    }

    fn store(&mut self, _: &UnitName, document: Vec<u8>) {
        black_box(document);
        (self.works, self.looks) = (!self.works, 2);
    }

    fn stored(&mut self) -> Option<bool> {
        self.looks = self.looks.checked_sub(1)?;
        (self.looks == 0).then_some(self.works)
    }

    fn damaged(&mut self, _: &UnitName) {}
}

/// A transport that does what the input says.
struct Transport {
    disks: Disks,
    /// Steps of the tasks that have not ended.
    open: HashMap<u32, Option<Step>>,
}

impl Transport {
    fn step(&mut self, tag: Tag, step: Step) {
        match step {
            Step::End(response) => {
                assert!(usize::from(response.sense_len) <= response.sense.len());
                self.open.remove(&tag.0).expect("a task ends once");
            }
            Step::Send { buffer, .. } => {
                self.disks.give_back(buffer);
                self.open.remove(&tag.0).expect("a task ends once");
            }
            Step::SendMemory { offset, len, .. } => {
                let memory = self.disks.memory(tag).expect("the unit has memory");
                let mut done = 0;
                while done < len {
                    let bytes = memory.read(offset + u64::from(done), (len - done) as usize);
                    assert!(!bytes.is_empty(), "what is to be sent is on the device");
                    done += bytes.len() as u32;
                }
                self.open.remove(&tag.0).expect("a task ends once");
                // Whether others may go on now, the next poll shows.
                let _ = self.disks.sent(tag);
            }
            step => *self.open.get_mut(&tag.0).expect("a step of a task that is") = Some(step),
        }
    }

    fn poll(&mut self) {
        while let Some((tag, step)) = self.disks.poll(0) {
            self.step(tag, step);
        }
    }

    /// Data comes for a task that has asked for it.
    fn deliver(&mut self, tag: Tag, data: &[u8]) {
        let next = match self.open.get_mut(&tag.0).and_then(Option::take) {
            Some(Step::Receive { mut buffer }) => {
                let len = data.len().min(buffer.len());
                buffer.bytes_mut()[..len].copy_from_slice(&data[..len]);
                buffer.bytes_mut()[len..].fill(0);
                self.disks.received(0, tag, Some(buffer))
            }
            Some(Step::ReceiveMemory { offset, len }) => {
                let memory = self.disks.memory(tag).expect("the unit has memory");
                memory.write(offset, &data[..data.len().min(len as usize)]);
                self.disks.received(0, tag, None)
            }
            _ => return,
        };
        self.step(tag, next);
    }

    /// A task is no more: its buffer goes back.
    fn forget(&mut self, tag: u32) {
        if let Some(Some(Step::Receive { buffer })) = self.open.remove(&tag) {
            self.disks.give_back(buffer);
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    parsers(bytes);
    let config = DisksConfig { wwpn: Wwn(1), wwnn: Wwn(2), buffers: 20 << 20 };
    let mut transport = Transport { disks: Disks::new(&config), open: HashMap::new() };
    transport.disks.keep_with(Box::new(Shelf { works: false, looks: 0 }));
    let ram = || Ram::new(1 << 16, 512, false, 1).expect("a size of whole blocks");
    let geometry = Geometry { volatile: true, serial: 2, ..ram().geometry().clone() };
    transport.disks.add(0, Box::new(ram())).expect("a free number");
    transport.disks.add(300, Box::new(Slow { ram: ram(), geometry, open: Vec::new() })).expect("a free number");
    transport.disks.add(2, Box::new(Null::new(1 << 45, 4096, 3).expect("a size of whole blocks"))).expect("free");
    let peer = |index: u8| PeerId { index: u16::from(index & 3), generation: 1 };
    for index in 0..3 {
        transport.disks.nexus(peer(index), Wwn(u64::from(index)));
    }
    let mut rest = bytes;
    while let Some((&[what, who, which, tag], after)) = rest.split_first_chunk::<4>() {
        rest = after;
        let lun = Lun(lun_bytes([0, 300, 2, 7][usize::from(which & 3)]).expect("a small number"));
        let tag = Tag(u32::from(tag % 16));
        match what % 8 {
            0..=3 => {
                let (cdb, after) = rest.split_at(rest.len().min(16));
                rest = after;
                let mut padded = [0; 32];
                padded[..cdb.len()].copy_from_slice(cdb);
                let attribute = match what >> 5 {
                    0 => TaskAttribute::Ordered,
                    1 => TaskAttribute::HeadOfQueue,
                    2 => TaskAttribute::Aca,
                    _ => TaskAttribute::Simple,
                };
                // A medium of 32 TiB is never done.
                let endless = which & 3 == 2 && [opcode::FORMAT_UNIT, opcode::SANITIZE].contains(&padded[0]);
                if endless || transport.open.contains_key(&tag.0) {
                    continue;
                }
                transport.open.insert(tag.0, None);
                let nexus = peer(who);
                let data_out = if which & 4 == 0 { u32::MAX } else { u32::from(which) << 4 };
                let task = Task { tag, nexus, lun, cdb: &padded, attribute, data_out, data_in: u32::MAX };
                let step = transport.disks.command(0, &task);
                transport.step(tag, step);
            }
            4 => {
                let (data, after) = rest.split_at(rest.len().min(usize::from(who)));
                rest = after;
                transport.deliver(tag, data);
            }
            5 => transport.poll(),
            6 => {
                let buffer = match transport.open.remove(&tag.0) {
                    Some(Some(Step::Receive { buffer })) => Some(buffer),
                    _ => None,
                };
                transport.disks.abort(tag, buffer);
            }
            _ => {
                let function = match what >> 4 {
                    0 => Function::AbortTaskSet,
                    1 => Function::ClearTaskSet,
                    2 => Function::LogicalUnitReset,
                    3 => Function::TargetReset,
                    4 => Function::ClearAca,
                    _ => {
                        transport.disks.allow(Wwn(u64::from(who & 3)), &[u16::from(which)]);
                        continue;
                    }
                };
                let mut aborted = Vec::new();
                transport.disks.manage(0, peer(who), lun, function, &mut |tag| aborted.push(tag.0));
                aborted.into_iter().for_each(|tag| transport.forget(tag));
            }
        }
    }
    // All that is open ends when its data is there.
    for round in 0..200 {
        // A medium is filled by one operation a poll.
        (0..100).for_each(|_| transport.poll());
        let tags: Vec<u32> = transport.open.keys().copied().collect();
        if tags.is_empty() {
            return;
        }
        assert!(round < 199, "tasks that do not end: {:?}", transport.open);
        tags.into_iter().for_each(|tag| transport.deliver(Tag(tag), &[]));
    }
});
