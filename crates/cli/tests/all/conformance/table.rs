//! Rows of the table.

use super::cases;
use super::stations::At;

/// A case: frames, and what must come of them.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Clause that it is about.
    pub(crate) clause: &'static str,
    /// Linux's answers, in the words of [`super::record::Record::words`].
    pub(crate) linux: &'static str,
    pub(crate) expected: Expected,
    /// Frames from the case's stations. An empty one stands for a pause, until all before it is answered.
    pub(crate) frames: fn(At) -> Vec<Vec<u8>>,
    /// The subject knows station 1's MAC address beforehand.
    pub(crate) met: bool,
    /// The precedence of ICMP errors counts.
    pub(crate) exact: bool,
    /// Reports of groups are part of the answers, and there must be one.
    pub(crate) reports: bool,
    /// Answers may come late: the case waits for some time in which there are none.
    pub(crate) patient: bool,
}

/// Relation between the two subjects' answers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// Byte for byte the same, after normalisation.
    Same,
    /// Others: linerate's in words, and the reason.
    Differs(&'static str, &'static str),
}

pub(crate) const fn case(
    name: &'static str,
    clause: &'static str,
    linux: &'static str,
    expected: Expected,
    frames: fn(At) -> Vec<Vec<u8>>,
) -> Case {
    Case { name, clause, linux, expected, frames, met: true, exact: false, reports: false, patient: false }
}

impl Case {
    /// Leaves out the meeting: the subject has never heard of the case's stations.
    pub(crate) const fn unmet(self) -> Self {
        Self { met: false, ..self }
    }

    /// Compares the precedence of ICMP errors, too.
    pub(crate) const fn exactly(self) -> Self {
        Self { exact: true, ..self }
    }

    /// Waits long enough for answers that stations give when they like, and takes reports of groups for answers.
    pub(crate) const fn patient(self) -> Self {
        Self { patient: true, ..self }
    }

    /// Waits for a report of groups, and takes it for an answer.
    pub(crate) const fn reports(self) -> Self {
        Self { reports: true, ..self }
    }
}

/// All cases, in the order in which they are run: reports of MLDv1 last, because a host remembers its querier.
pub(crate) fn all() -> Vec<&'static Case> {
    let groups = [
        cases::icmp::CASES,
        cases::icmpv6::CASES,
        cases::fragments_v4::CASES,
        cases::fragments_v6::CASES,
        cases::options::CASES,
        cases::extensions::CASES,
        cases::mtu::CASES,
        cases::arp::CASES,
        cases::discovery::CASES,
        cases::martians::CASES,
        cases::malformed::CASES,
        cases::udp::CASES,
        cases::link::CASES,
        cases::groups::CASES,
    ];
    groups.into_iter().flatten().collect()
}
