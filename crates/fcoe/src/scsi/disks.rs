//! Disks: logical units on back ends, and the tasks of their initiators.

use super::attention::Attentions;
use super::copy::Copy;
use super::kept::Keeping;
use super::met::Met;
use super::nexus::{Mask, Nexus, NexusName, Nexuses};
use super::task::{Operations, Stage, Tasks};
use super::unit::{Presence, Unit, UnitCounters, UnitIndex};
use super::work::Work;
use super::{DeviceServer, Function, FunctionResponse, Lun, Response, Step, Task, TaskAttribute, UnitName, order};
use crate::indexed::Indexed;
use crate::indexed::TableIndex;
use crate::{PeerId, ProtectionType};
use linerate_block::{Buffer, Geometry, GeometryError, Memory, Pool, SizeError, Tag};
use linerate_wire::Wwn;
use linerate_wire::scsi::{asc, lun_number};
use std::collections::VecDeque;
use thiserror::Error;

/// Configuration of the disks' port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisksConfig {
    /// Name of the port through which they are accessed; see [`DiskPort`](super::DiskPort) for several.
    pub wwpn: Wwn,
    /// Name of the node.
    pub wwnn: Wwn,
    /// Most bytes of all buffers together; a command that finds none ends with TASK SET FULL.
    pub buffers: usize,
}

/// Reason that a disk cannot be added or changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DisksError {
    /// The LUN is too large.
    #[error("LUN {0} is none: give one below 16384")]
    Lun(u16),
    /// The LUN is in use.
    #[error("LUN {0} is taken: give another number")]
    Taken(u16),
    /// The geometry of its back end is impossible.
    #[error("LUN {0}: {1}")]
    Geometry(u16, GeometryError),
    /// Another LUN has its name.
    #[error(
        "LUN {0}: it has the same name as LUN {1}, and initiators would take both for one disk: give one of them serial="
    )]
    Name(u16, u16),
    /// There is no such LUN.
    #[error("there is no LUN {0}: give one that there is")]
    Unknown(u16),
    /// Its back end does not take over another size.
    #[error("LUN {0}: {1}")]
    Size(u16, SizeError),
}

/// Properties of a disk that its back end does not give.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnitOptions {
    /// Type of protection information, if the back end keeps any; by default type 1.
    pub protection: Option<ProtectionType>,
    /// Its names; by default made from the geometry's serial number.
    pub name: Option<UnitName>,
}

/// Status of a disk.
#[derive(Debug, Clone, Copy)]
pub struct DiskStatus<'a> {
    /// LUN of the disk.
    pub lun: u16,
    /// Geometry of its back end.
    pub geometry: &'a Geometry,
    /// Counters of its work.
    pub counters: UnitCounters,
    /// Operations that its back end has not completed.
    pub in_flight: u32,
}

/// A device server with any number of disks (SAM-5, clause 4.5.19).
///
/// # LUN masking
///
/// Without any [`allow`](Self::allow) every initiator sees every disk. From the first one on, only the named initiators
/// see disks, each those that it is allowed; to all others there is no LUN: REPORT LUNS is empty, INQUIRY answers with
/// peripheral qualifier 3, and every other command ends with LOGICAL UNIT NOT SUPPORTED.
///
/// # Order
///
/// Simple tasks are executed in any order, head-of-queue tasks at once, ordered tasks when all before them have ended.
/// A READ of a back end in memory has ended when the transport has made all of its frames: it reads the memory then. A
/// retransmission (SRR) sends the memory's content at that time.
pub struct Disks {
    pub(super) config: DisksConfig,
    /// Names of the ports through which they are accessed; the nexuses of port n have the indices n, n + count and so on.
    pub(super) ports: Vec<Wwn>,
    pub(super) port_count: u16,
    pub(super) units: Indexed<UnitIndex, Unit>,
    /// Index in `units` of each LUN, or `NO_UNIT`.
    pub(super) luns: Vec<UnitIndex>,
    pub(super) mask: Mask,
    pub(super) met: Met,
    pub(super) nexuses: Nexuses,
    pub(super) tasks: Tasks,
    pub(super) operations: Operations,
    /// Tasks that waited for others and continue.
    pub(super) woken: VecDeque<Tag>,
    /// Steps that were not yet taken.
    pub(super) ready: VecDeque<(Tag, Step)>,
    /// Units whose back end has operations to complete.
    pub(super) busy: Vec<UnitIndex>,
    /// Units that were removed and still have work under way.
    pub(super) leaving: Vec<UnitIndex>,
    /// Copies under way.
    pub(super) copies: VecDeque<Copy>,
    /// Units with an upkeep under way.
    pub(super) tended: VecDeque<UnitIndex>,
    /// Storage for what units are to know after a restart.
    pub(super) keeping: Keeping,
    pub(super) pool: Pool,
    /// Scratch memory for data in.
    pub(super) scratch: Vec<u8>,
}

impl Disks {
    /// Device server without disks.
    #[must_use]
    pub fn new(config: &DisksConfig) -> Self {
        Self {
            config: *config,
            ports: vec![config.wwpn],
            port_count: 1,
            units: Indexed::new(),
            luns: Vec::new(),
            mask: Mask::default(),
            met: Met::default(),
            nexuses: Nexuses::default(),
            tasks: Tasks::default(),
            operations: Operations::default(),
            woken: VecDeque::new(),
            ready: VecDeque::new(),
            busy: Vec::new(),
            leaving: Vec::new(),
            copies: VecDeque::new(),
            tended: VecDeque::new(),
            keeping: Keeping::default(),
            pool: Pool::new(config.buffers),
            scratch: Vec::new(),
        }
    }

    /// Status of all disks.
    pub fn status(&self) -> impl Iterator<Item = DiskStatus<'_>> {
        self.units.iter().filter(|unit| unit.presence == Presence::Here).map(|unit| DiskStatus {
            lun: unit.lun,
            geometry: &unit.geometry,
            counters: unit.counters,
            in_flight: unit.in_flight,
        })
    }

    /// Names the ports, before any nexus.
    pub(super) fn name_ports(&mut self, names: &[Wwn]) {
        self.ports = names.to_vec();
        self.port_count = names.iter().fold(0, |count: u16, _| count.saturating_add(1)).max(1);
    }

    /// Number of the port of a nexus, from 0.
    pub(super) fn port_of(&self, nexus: PeerId) -> u16 {
        nexus.index % self.port_count
    }

    /// Memory of a unit whose task has a memory step: see [`DeviceServer::with_memory`].
    #[inline]
    pub fn memory(&mut self, tag: Tag) -> Option<&mut dyn Memory> {
        let unit = self.tasks.get(tag)?.unit;
        self.units.get_mut(unit)?.backend.memory()
    }

    /// Bytes of buffers lent to tasks and operations.
    #[must_use]
    pub fn lent(&self) -> usize {
        self.pool.lent()
    }

    /// LUNs that a nexus sees.
    pub(super) fn seen(&self, nexus: PeerId) -> impl Iterator<Item = u16> {
        let attentions = self.nexuses.get(nexus).map_or(&[][..], |nexus| &nexus.units);
        self.units.iter().zip(attentions).filter(|(_, attentions)| !attentions.is_hidden()).map(|(unit, _)| unit.lun)
    }

    /// Unit of a LUN that a nexus sees, and its pending attentions.
    #[inline]
    pub(super) fn find(&self, nexus: PeerId, lun: Lun) -> Option<(UnitIndex, Attentions)> {
        let unit = *self.luns.get(usize::from(lun_number(lun.0)?))?;
        let attentions = *self.nexuses.get(nexus)?.units.get(unit.number())?;
        (!attentions.is_hidden()).then_some((unit, attentions))
    }
}

impl DeviceServer for Disks {
    fn nexus(&mut self, nexus: PeerId, wwpn: Wwn) {
        // SAM-5, clause 5.14: a new nexus is notified of the reset before it.
        let mut told = |unit: &Unit| {
            let mut attentions = Attentions::RESET;
            self.met.show(wwpn, unit, !self.mask.shows(wwpn, unit), &mut attentions);
            attentions
        };
        let units = self.units.iter().map(&mut told).collect();
        let port = self.port_of(nexus);
        self.nexuses.insert(Nexus::new(nexus, NexusName { wwpn, port }, units));
    }

    fn nexus_lost(&mut self, nexus: PeerId) {
        for tag in self.tasks.tags() {
            if self.tasks[tag].stage != Stage::Idle && self.tasks[tag].nexus == nexus {
                self.drop_task(tag);
            }
        }
        self.nexuses.remove(nexus);
    }

    fn command(&mut self, _now: u64, task: &Task<'_>) -> Step {
        let tag = task.tag;
        self.tasks.reach(tag);
        if self.tasks[tag].stage != Stage::Idle {
            self.drop_task(tag);
        }
        let Some((unit, attentions)) = self.find(task.nexus, task.lun) else {
            return self.no_unit(task);
        };
        let slot = &mut self.tasks[tag];
        slot.unit = unit;
        slot.nexus = task.nexus;
        slot.data_out = task.data_out;
        if !attentions.is_quiet()
            && let Some(response) = self.attention(task, unit)
        {
            return Step::End(response);
        }
        let cdb = match super::response::parse(task.cdb) {
            Ok(cdb) => cdb,
            Err(response) => return Step::End(self.count(unit, response)),
        };
        if task.attribute == TaskAttribute::Aca {
            // SAM-5, clause 8.6.5: there is no auto contingent allegiance.
            return Step::End(self.count(unit, Response::illegal(asc::INVALID_MESSAGE)));
        }
        let attribute = order::attribute(&cdb, task.attribute);
        self.tasks[tag].attribute = attribute;
        if !self.units[unit].order.admit(task.tag, attribute) {
            let slot = &mut self.tasks[tag];
            slot.stage = Stage::Waiting;
            slot.cdb = cdb;
            return Step::Pending;
        }
        self.run(tag, cdb)
    }

    fn received(&mut self, _now: u64, tag: Tag, buffer: Option<Buffer>) -> Step {
        match self.tasks.get(tag).map(|slot| slot.stage) {
            Some(Stage::ReceivingMemory) => {
                if let Some(buffer) = buffer {
                    self.pool.give(buffer);
                }
                self.end_task(tag);
                Step::End(Response::good(self.tasks[tag].wanted))
            }
            Some(Stage::Receiving) => {
                if let Some(buffer) = buffer {
                    self.tasks[tag].work.supply(buffer, &mut self.pool);
                }
                let acts = matches!(self.tasks[tag].work, Work::List(_));
                let mut step = if acts { self.act(tag).unwrap_or_else(Step::End) } else { self.go(tag) };
                self.settle(tag, &mut step);
                step
            }
            Some(Stage::Doomed) => {
                if let Some(buffer) = buffer {
                    self.pool.give(buffer);
                }
                self.tasks[tag].stage = Stage::Idle;
                Step::End(Response::status(Response::TASK_ABORTED))
            }
            // The task has not asked for data, or another initiator has ended it meanwhile, which is answered once.
            stage => {
                if let Some(buffer) = buffer {
                    self.pool.give(buffer);
                }
                if stage == Some(Stage::Ready)
                    && let Some(at) = self.ready.iter().position(|(ready, _)| *ready == tag)
                    && let Some((_, step)) = self.ready.remove(at)
                {
                    self.tasks[tag].stage = Stage::Idle;
                    return step;
                }
                Step::End(Response::illegal(asc::INFORMATION_UNIT).in_fixed_format())
            }
        }
    }

    fn give_back(&mut self, buffer: Buffer) {
        self.pool.give(buffer);
    }

    #[inline]
    fn sent(&mut self, tag: Tag) -> bool {
        if self.tasks.get(tag).is_some_and(|slot| slot.stage == Stage::Sending) {
            self.end_task(tag);
        }
        !self.woken.is_empty()
    }

    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>) {
        if let Some(buffer) = buffer {
            self.pool.give(buffer);
        }
        if self.tasks.get(tag).is_some_and(|slot| slot.stage != Stage::Idle) {
            self.drop_task(tag);
        }
    }

    fn manage(
        &mut self,
        _now: u64,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse {
        self.function(nexus, lun, function, aborted)
    }

    fn poll(&mut self, now: u64) -> Option<(Tag, Step)> {
        self.tend_kept(now);
        self.tend();
        self.bury();
        self.tend_copies();
        loop {
            if let Some((tag, step)) = self.ready.pop_front() {
                if let Some(slot) = self.tasks.get_mut(tag)
                    && slot.stage == Stage::Ready
                {
                    slot.stage = Stage::Idle;
                }
                return Some((tag, step));
            }
            if let Some(tag) = self.woken.pop_front() {
                match self.resume(tag) {
                    Step::Pending => continue,
                    step => return Some((tag, step)),
                }
            }
            if self.busy.is_empty() {
                return None;
            }
            self.collect();
            if self.ready.is_empty() && self.woken.is_empty() {
                return None;
            }
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        if self.is_tending() || self.is_copying() { Some(0) } else { self.keeping.due() }
    }

    #[inline]
    fn with_memory<R>(&mut self, tag: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R> {
        self.memory(tag).map(with)
    }
}
