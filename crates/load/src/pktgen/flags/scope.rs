//! Scopes in which flags have an effect.

use crate::pktgen::config::{Config, options};

/// Scope in which a flag has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pktgen) enum Scope {
    All,
    /// Modes that make frames: tx, txseq, ping.
    Sends,
    /// Modes that send a stream: tx, txseq.
    Streams,
    /// Runs whose frames are made from addresses, not from a capture or rubbish.
    Makes,
    /// Runs whose frame lengths can be chosen, not from a capture.
    Lengths,
    /// Modes that receive a stream: rx, rxseq.
    Receives,
    /// Modes tx, txseq, rx and rxseq.
    Threads,
    /// Streams whose lengths can be chosen.
    Mixes,
    /// Runs that make or look for linerate's mark: tx and ping without a capture or rubbish, rx.
    Marks,
    /// Modes with something to do at a second port: tx, txseq, ping.
    Far,
    Tx,
}

impl Scope {
    /// True if flags of this scope have an effect in this run.
    pub(super) fn holds(self, config: &Config) -> bool {
        let (sends, receives) = (config.mode.sends(), config.mode.receives());
        let streams = sends && !config.mode.single || config.mode.name == "txseq";
        match self {
            Self::All => true,
            Self::Sends => sends,
            Self::Streams => streams,
            Self::Makes => sends && !config.captured() && !config.has(options::RUBBISH),
            Self::Lengths => sends && !config.captured(),
            Self::Receives => receives,
            Self::Threads => streams || receives,
            Self::Mixes => streams && !config.captured(),
            Self::Marks => config.mode.name == "rx" || config.mode.name != "txseq" && Self::Makes.holds(config),
            Self::Far => config.mode.far.is_some(),
            Self::Tx => config.mode.name == "tx",
        }
    }

    /// Reason why they have no effect.
    pub(super) fn missing(self, config: &Config) -> String {
        match self {
            Self::Makes | Self::Lengths | Self::Mixes | Self::Marks
                if config.mode.sends() && !Self::Makes.holds(config) =>
            {
                "the frames come as they are".to_owned()
            }
            _ => format!("has no effect with -f {}", config.mode.name),
        }
    }
}
