//! Interface between a transport and a device server.

use crate::PeerId;
use linerate_block::{Buffer, Memory, Tag};
use linerate_wire::Wwn;

/// A logical unit number: the 8 bytes of FCP_CMND (SAM-5, clause 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lun(pub [u8; 8]);

/// Order in which a task is executed (SAM-5, clause 8.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskAttribute {
    /// In any order.
    #[default]
    Simple,
    /// Before all others.
    HeadOfQueue,
    /// After all before it.
    Ordered,
    /// Under auto contingent allegiance.
    Aca,
}

/// A received command.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// Tag given by the transport: the exchange's place in its table. Reused when the task has ended.
    pub tag: Tag,
    /// I_T nexus of the sender.
    pub nexus: PeerId,
    /// Addressed logical unit.
    pub lun: Lun,
    /// The command descriptor block, 16 bytes or more.
    pub cdb: &'a [u8],
    /// Task attribute.
    pub attribute: TaskAttribute,
    /// Most bytes of data out from the initiator (FCP_DL with WRDATA).
    pub data_out: u32,
    /// Most bytes of data in to the initiator (FCP_DL with RDDATA).
    pub data_in: u32,
}

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The status (SAM-5, clause 5.3): 0x00 GOOD, 0x02 CHECK CONDITION, 0x18 RESERVATION CONFLICT, 0x28 TASK SET FULL.
    pub status: u8,
    /// Sense data, of which `sense_len` bytes are valid.
    pub sense: [u8; 32],
    /// Valid bytes of `sense`.
    pub sense_len: u8,
    /// Bytes of data that the command wanted to move in all; the residual is the difference to FCP_DL.
    pub wanted: u64,
}

/// Next step of a task. The bytes of data in come in one step, in order; a task asks for data out at most once.
#[derive(Debug)]
pub enum Step {
    /// No step yet: [`DeviceServer::poll`] will return it.
    Pending,
    /// Send these bytes of the unit's [`Memory`], at most FCP_DL of them, then `then`; report it by
    /// [`DeviceServer::sent`].
    SendMemory {
        /// Byte offset on the device.
        offset: u64,
        /// Number of bytes.
        len: u32,
        /// Response after the data.
        then: Response,
    },
    /// Send this buffer, at most FCP_DL bytes of it, then `then`; return it with [`DeviceServer::give_back`].
    Send {
        /// The data.
        buffer: Buffer,
        /// Response after the data.
        then: Response,
    },
    /// Receive `len` bytes and write them into the unit's [`Memory`] as they come; then [`DeviceServer::received`].
    ReceiveMemory {
        /// Byte offset on the device.
        offset: u64,
        /// Number of bytes.
        len: u32,
    },
    /// Receive as many bytes as the buffer is long, into it; then [`DeviceServer::received`].
    Receive {
        /// Destination of the data.
        buffer: Buffer,
    },
    /// End the task with this response.
    End(Response),
}

/// A task management function (SAM-5, clause 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// ABORT TASK SET: ends all tasks of the nexus in the unit.
    AbortTaskSet,
    /// CLEAR TASK SET: ends all tasks in the unit.
    ClearTaskSet,
    /// LOGICAL UNIT RESET: the unit as after power-on.
    LogicalUnitReset,
    /// TARGET RESET: all units as after power-on.
    TargetReset,
    /// CLEAR ACA: ends auto contingent allegiance.
    ClearAca,
}

/// Result of a task management function (FCP-4, table 36: the RSP_CODE).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FunctionResponse {
    /// 0x00.
    Complete,
    /// 0x04.
    Rejected,
    /// 0x05.
    Failed,
    /// 0x09.
    IncorrectLun,
}

/// Logical units behind one port, and their tasks.
pub trait DeviceServer {
    /// Adds an I_T nexus: an initiator has logged in (PRLI).
    fn nexus(&mut self, nexus: PeerId, wwpn: Wwn);

    /// Removes an I_T nexus: its tasks end without a response.
    fn nexus_lost(&mut self, nexus: PeerId);

    /// Begins the task of a command.
    fn command(&mut self, now: u64, task: &Task<'_>) -> Step;

    /// Continues a task whose data out has been stored as the step asked. A task that another nexus has ended meanwhile
    /// (PREEMPT AND ABORT) ends here, and then not by [`poll`](Self::poll).
    fn received(&mut self, now: u64, tag: Tag, buffer: Option<Buffer>) -> Step;

    /// Takes back the buffer of a [`Step::Send`] that was sent, or will not be. Its task has ended;
    /// [`abort`](Self::abort) is not called.
    fn give_back(&mut self, buffer: Buffer);

    /// Reports that the data of a [`Step::SendMemory`] and its response were sent, or will not be: the task has ended,
    /// and tasks that waited for it may change the memory. True if there was one: [`poll`](Self::poll) has its step
    /// then. A repeated call changes nothing.
    fn sent(&mut self, tag: Tag) -> bool;

    /// Aborts a task (ABTS, a lost transport): it has no further step. `buffer` is the one that it was receiving into.
    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>);

    /// Executes a task management function; `aborted` is called for each task of that nexus that ended by it: it has no
    /// further step, and its receive buffer goes back by [`give_back`](Self::give_back). Tasks of others end with TASK
    /// ABORTED, by [`poll`](Self::poll), which is called next, even while their data comes into memory, or when it has
    /// come into their buffer. A task whose last step was returned has ended before.
    fn manage(
        &mut self,
        now: u64,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse;

    /// Passes submitted operations to the back ends, and takes completed ones: returns the next task with its step.
    fn poll(&mut self, now: u64) -> Option<(Tag, Step)>;

    /// Time at which [`poll`](Self::poll) has work even if nothing has ended.
    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    /// Lets `with` use the memory of a unit whose task has a memory step; for retransmissions, valid until the tag is
    /// reused. None if there is no such memory.
    fn with_memory<R>(&mut self, tag: Tag, with: impl FnOnce(&mut dyn Memory) -> R) -> Option<R>;
}
