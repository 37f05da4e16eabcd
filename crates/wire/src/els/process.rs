//! PRLI, PRLO and their LS_ACC: service parameter pages.

use super::{ElsCommand, NAME, payload};
use crate::Error;
use crate::FcType;
use crate::field::{Field, put, record, u16_at, values};

values! {
    /// FCP's service parameters (FCP-4, PRLI).
    pub mod fcp_service: u32;
    READ_XFER_RDY_DISABLED = 0x0002, "Reads need no FCP_XFER_RDY.";
    TARGET = 0x0010, "The process is a target.";
    INITIATOR = 0x0020, "The process is an initiator.";
    CONFIRMED_COMPLETION = 0x0080, "Confirmed completion (FCP_CONF) is supported.";
    RETRY = 0x0100, "Retry (SRR) is supported.";
    REC = 0x0400, "REC is supported.";
}

record! {
    /// A page of service parameters (FC-LS-3, PRLI and PRLO).
    ServicePage[16];
    0 fc_type: FcType = "Type of the process: the FC-4 protocol.";
    1 extension: u8 = "Type code extension.";
    2 flags: u16 = "[`ServicePage::IMAGE_PAIR`], the validity bits of the associators, and in a reply the response code.";
    4 originator: u32 = "The originator's process associator.";
    8 responder: u32 = "The responder's process associator.";
    12 parameters: u32 = "Service parameters; for FCP bits of [`fcp_service`].";
}

values! {
    impl ServicePage: u16;
    IMAGE_PAIR = 0x2000, "In a request: establish an image pair; in a reply: it is established.";
    EXECUTED = 0x0100, "Response code: done.";
    NO_IMAGE = 0x0400, "Response code: the responder has no such image (FC-LS-3, PRLI response codes).";
    INVALID = 0x0800, "Response code: invalid type or parameters.";
}

impl ServicePage {
    /// FCP's page.
    #[must_use]
    pub const fn fcp(flags: u16, parameters: u32) -> Self {
        Self { fc_type: FcType::FCP, extension: 0, flags, originator: 0, responder: 0, parameters }
    }

    /// The response code, as one of the constants.
    #[must_use]
    pub const fn response(&self) -> u16 {
        self.flags & 0x0f00
    }

    /// Payload that begins with this command and has this page only.
    #[must_use]
    pub fn payload(&self, command: ElsCommand) -> [u8; pages::FIRST_PAGE + Self::LEN] {
        let mut bytes = [0; pages::FIRST_PAGE + Self::LEN];
        head(command, 1, &mut bytes);
        Self::put(*self, &mut bytes, pages::FIRST_PAGE);
        bytes
    }
}

/// Offsets of the fields before the pages, and of the first page (FC-LS-3, PRLI and PRLO).
mod pages {
    pub(super) const COMMAND: usize = 0;
    pub(super) const PAGE_LENGTH: usize = 1;
    pub(super) const PAYLOAD_LENGTH: usize = 2;
    pub(super) const FIRST_PAGE: usize = 4;
}

/// The pages of a PRLI, a PRLO, or an LS_ACC to one of them: `command, 16, bytes in all`, and one page or more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServicePages<'a> {
    pages: &'a [[u8; ServicePage::LEN]],
}

impl<'a> ServicePages<'a> {
    /// Views a payload.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when it is shorter than its length field states, [`Error::Malformed`] when pages are not 16
    /// bytes long or there is none.
    pub fn new_checked(bytes: &'a [u8]) -> Result<Self, Error> {
        let head: &[u8; 4] = payload(bytes)?;
        if usize::from(head[pages::PAGE_LENGTH]) != ServicePage::LEN {
            return Err(Error::Malformed(NAME, "page length"));
        }
        let len = usize::from(u16_at(head, pages::PAYLOAD_LENGTH));
        let pages = bytes.get(pages::FIRST_PAGE..len.max(pages::FIRST_PAGE)).ok_or(Error::Truncated(NAME))?;
        match pages.as_chunks() {
            ([], _) | (_, [_, ..]) => Err(Error::Malformed(NAME, "payload length")),
            (pages, []) => Ok(Self { pages }),
        }
    }

    /// Iterates over the pages.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = ServicePage> + use<'a> {
        self.pages.iter().map(|page| ServicePage::get(page, 0))
    }

    /// FCP's page, if there is one.
    #[must_use]
    pub fn fcp(&self) -> Option<ServicePage> {
        self.iter().find(|page| page.fc_type == FcType::FCP)
    }

    /// Length of the payload in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        pages::FIRST_PAGE + self.pages.as_flattened().len()
    }

    /// Always false: there is at least one page.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Writes a payload with these pages; returns its length in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Truncated`] when the buffer is too short, [`Error::TooLarge`] when there are too many pages.
    pub fn emit(
        command: ElsCommand,
        pages: impl ExactSizeIterator<Item = ServicePage>,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        let len = pages::FIRST_PAGE + ServicePage::LEN * pages.len();
        if u16::try_from(len).is_err() {
            return Err(Error::TooLarge(NAME, "page count"));
        }
        let bytes = buffer.get_mut(..len).ok_or(Error::Truncated(NAME))?;
        head(command, pages.len(), bytes);
        for (i, page) in pages.enumerate() {
            ServicePage::put(page, bytes, pages::FIRST_PAGE + ServicePage::LEN * i);
        }
        Ok(len)
    }
}

/// Head of a payload.
fn head(command: ElsCommand, pages: usize, bytes: &mut [u8]) {
    const PAGE_LEN: u8 = ServicePage::LEN.to_le_bytes()[0];
    let [.., high, low] = (pages::FIRST_PAGE + ServicePage::LEN * pages).to_be_bytes();
    put(bytes, pages::COMMAND, &[command.0, PAGE_LEN, high, low]);
}
