//! What a transport asks of a device server, and what a device server asks of its transport.

use crate::PeerId;
use linerate_block::{Buffer, Memory, Tag};
use linerate_wire::Wwn;

/// A logical unit number: the 8 bytes of FCP_CMND (SAM-5, clause 4.7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lun(pub [u8; 8]);

/// In which order a task is done (SAM-5, clause 8.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskAttribute {
    /// Any.
    #[default]
    Simple,
    /// Before all others.
    HeadOfQueue,
    /// After all before it.
    Ordered,
    /// Under auto contingent allegiance.
    Aca,
}

/// A command as it came.
#[derive(Debug, Clone, Copy)]
pub struct Task<'a> {
    /// As the transport calls it: its place in a table of exchanges. Given again when the task has ended.
    pub tag: Tag,
    /// Sender.
    pub nexus: PeerId,
    /// To which logical unit.
    pub lun: Lun,
    /// The command descriptor block, 16 bytes or more.
    pub cdb: &'a [u8],
    /// Its place in the queue.
    pub attribute: TaskAttribute,
    /// Bytes that the initiator gives at most (FCP_DL with WRDATA).
    pub data_out: u32,
    /// Bytes that the initiator takes at most (FCP_DL with RDDATA).
    pub data_in: u32,
}

/// Outcome of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The status (SAM-5, clause 5.3): 0x00 GOOD, 0x02 CHECK CONDITION, 0x18 RESERVATION CONFLICT, 0x28 TASK SET FULL.
    pub status: u8,
    /// Sense data, of which `sense_len` bytes count.
    pub sense: [u8; 32],
    /// See `sense`.
    pub sense_len: u8,
    /// Bytes of data that the command wanted to move in all: the residual is what this is more or less than FCP_DL.
    pub wanted: u64,
}

/// What is next for a task. The bytes of data in come in one step, in order; a task asks for data out at most once.
#[derive(Debug)]
pub enum Step {
    /// Nothing yet: [`DeviceServer::poll`] will tell.
    Pending,
    /// Send these bytes of the unit's [`Memory`], at most FCP_DL of them, then `then`; tell it by [`DeviceServer::sent`].
    SendMemory {
        /// The first byte's place on the device.
        offset: u64,
        /// How many.
        len: u32,
        /// Outcome of the command then.
        then: Response,
    },
    /// Send this buffer, at most FCP_DL bytes of it, then `then`; give it back with [`DeviceServer::give_back`].
    Send {
        /// The data.
        buffer: Buffer,
        /// Outcome of the command then.
        then: Response,
    },
    /// Ask for so many bytes and write them into the unit's [`Memory`] as they come; then [`DeviceServer::received`].
    ReceiveMemory {
        /// The first byte's place on the device.
        offset: u64,
        /// How many.
        len: u32,
    },
    /// Ask for as many bytes as the buffer is long and put them there; then [`DeviceServer::received`].
    Receive {
        /// Destination in memory.
        buffer: Buffer,
    },
    /// It has ended.
    End(Response),
}

/// A task management function (SAM-5, clause 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// All tasks of the nexus in the unit.
    AbortTaskSet,
    /// All tasks in the unit.
    ClearTaskSet,
    /// The unit as after power-on.
    LogicalUnitReset,
    /// The target as after power-on (all units).
    TargetReset,
    /// The end of auto contingent allegiance.
    ClearAca,
}

/// Outcome (FCP-4, table 36: the RSP_CODE).
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
    /// Somebody has logged in (PRLI): a new I_T nexus.
    fn nexus(&mut self, nexus: PeerId, wwpn: Wwn);

    /// A nexus is lost: its tasks end without a response.
    fn nexus_lost(&mut self, nexus: PeerId);

    /// A command has arrived.
    fn command(&mut self, now: u64, task: &Task<'_>) -> Step;

    /// All data out is where the step said. A task that another nexus has ended meanwhile (PREEMPT AND ABORT) ends here,
    /// and then not by [`poll`](Self::poll).
    fn received(&mut self, now: u64, tag: Tag, buffer: Option<Buffer>) -> Step;

    /// The data of a [`Step::Send`] has gone, or will not go. Its task has ended; [`abort`](Self::abort) is not called.
    fn give_back(&mut self, buffer: Buffer);

    /// The data of a [`Step::SendMemory`] and its response have gone, or will not go: the task has ended, and what waited
    /// for it may change the memory. Whether something did wait: [`poll`](Self::poll) has its step then. Telling it again
    /// changes nothing.
    fn sent(&mut self, tag: Tag) -> bool;

    /// A task is no more (ABTS, a lost transport): it has no further step. `buffer` is what it was to be received in.
    fn abort(&mut self, tag: Tag, buffer: Option<Buffer>);

    /// A task management function; `aborted` is told each task of that nexus that ended by it: it has no further step, and
    /// what it was to be received in goes back by [`give_back`](Self::give_back). Tasks of others end with TASK ABORTED, by
    /// [`poll`](Self::poll), which is called next, even while their data comes into memory, or when it has come into their
    /// buffer. A task whose last step was handed out has ended before.
    fn manage(
        &mut self,
        now: u64,
        nexus: PeerId,
        lun: Lun,
        function: Function,
        aborted: &mut dyn FnMut(Tag),
    ) -> FunctionResponse;

    /// Hands what was submitted to the back ends, and takes what has ended: the next task that has a step.
    fn poll(&mut self, now: u64) -> Option<(Tag, Step)>;

    /// The memory of a unit whose task has a memory step; for data that is sent again, until the tag is given again.
    fn memory(&mut self, tag: Tag) -> Option<&mut dyn Memory>;
}
