//! Rules that say which routing table is looked up for which packets (RTM_GETRULE, linux/fib_rules.h).

use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, ip, word};
use std::net::IpAddr;

/// `struct fib_rule_hdr`.
const HEADER: usize = 12;
const FRA_SRC: u16 = 2;
const FRA_PRIORITY: u16 = 6;
const FRA_TABLE: u16 = 15;
/// FR_ACT_TO_TBL
const LOOKS_UP: u8 = 1;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    pub priority: u32,
    /// Source of the packets, and the bits of it that count; none for all.
    pub from: Option<(IpAddr, u8)>,
    pub table: u32,
}

impl Policy {
    /// Parses a rule; none of those that look up no table.
    fn parse(body: &[u8]) -> Option<Self> {
        let (header, rest) = body.split_at_checked(HEADER)?;
        let number = |kind| attribute(rest, kind).map(|value| word(value, 0));
        let table = number(FRA_TABLE).unwrap_or_else(|| header[4].into());
        (header[7] == LOOKS_UP && table != 0).then(|| Self {
            priority: number(FRA_PRIORITY).unwrap_or(0),
            from: attribute(rest, FRA_SRC).and_then(ip).map(|address| (address, header[2])),
            table,
        })
    }
}

/// Rules of both versions of IP.
///
/// # Errors
/// The reason for which there is no answer.
pub fn policies(source: &mut dyn Source) -> Part<Vec<Policy>> {
    Ok(source.ask(Question::Policies, None)?.iter().filter_map(|body| Policy::parse(body)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapter::notation::read;

    #[test]
    fn a_rule_has_its_source_and_table_whatever_is_cut() {
        let text = "message\nraw hex 020020000000000100000000\n2 hex 0a00020a\n6 u32 32765\n15 u32 200\n\
                    message\nraw hex 02000000fe00000100000000\n6 u32 32766\n";
        let bodies = read(text).unwrap();
        let all: Vec<_> = bodies.iter().filter_map(|body| Policy::parse(body)).collect();
        let from = Some(("10.0.2.10".parse().unwrap(), 32));
        let wanted = [Policy { priority: 32765, from, table: 200 }, Policy { priority: 32766, from: None, table: 254 }];
        assert_eq!(all, wanted);
        for end in 0..bodies[0].len() {
            assert!(Policy::parse(&bodies[0][..end]).is_none_or(|one| one.table == 200), "{end}");
        }
    }
}
