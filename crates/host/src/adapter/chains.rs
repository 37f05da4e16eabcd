//! Chains of the packet filter that packets pass (NFT_MSG_GETCHAIN, linux/netfilter/nf_tables.h): those of nftables, and of
//! iptables as it is now.

use super::source::{Question, Source};
use crate::absent::Part;
use crate::netlink::message::{attribute, text};

const NFTA_CHAIN_TABLE: u16 = 1;
const NFTA_CHAIN_NAME: u16 = 3;
const NFTA_CHAIN_HOOK: u16 = 4;
const NFTA_CHAIN_POLICY: u16 = 5;
const NFTA_CHAIN_USE: u16 = 6;
/// NF_DROP
const DROP: u32 = 0;

/// A chain that packets pass by themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterChain {
    /// Table.
    pub table: String,
    /// Name in the table.
    pub name: String,
    /// Rules in it.
    pub rules: u32,
    /// Packets that no rule decides on are dropped.
    pub drops: bool,
}

impl FilterChain {
    /// Parses a chain; none if nothing comes to it but from other chains.
    fn parse(answer: &[u8]) -> Option<Self> {
        let number = |kind| Some(u32::from_be_bytes(*attribute(answer, kind)?.first_chunk()?));
        attribute(answer, NFTA_CHAIN_HOOK)?;
        Some(Self {
            table: text(attribute(answer, NFTA_CHAIN_TABLE)?),
            name: text(attribute(answer, NFTA_CHAIN_NAME)?),
            rules: number(NFTA_CHAIN_USE).unwrap_or(0),
            drops: number(NFTA_CHAIN_POLICY) == Some(DROP),
        })
    }
}

/// Chains that packets pass.
///
/// # Errors
/// The kernel has none of it, or does not tell for want of a privilege.
pub fn chains(source: &mut dyn Source) -> Part<Vec<FilterChain>> {
    Ok(source.ask(Question::Chains, None)?.iter().filter_map(|answer| FilterChain::parse(answer)).collect())
}
