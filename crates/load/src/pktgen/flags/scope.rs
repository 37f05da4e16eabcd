//! Where flags have an effect.

use crate::pktgen::config::{Config, options};

/// Where a flag has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pktgen) enum Scope {
    /// In all modes.
    All,
    /// Where frames are made: tx, txseq, ping.
    Sends,
    /// Where a stream is sent: tx, txseq.
    Streams,
    /// Where frames are made from addresses, so not from a capture, nor from rubbish.
    Makes,
    /// Where their lengths can be chosen, so not from a capture.
    Lengths,
    /// Where a stream is received: rx, rxseq.
    Receives,
    /// tx, txseq, rx and rxseq.
    Threads,
    /// Where linerate's mark is sent or looked for: tx, rx, ping.
    Marks,
    /// tx alone.
    Tx,
}

impl Scope {
    /// Whether flags of this scope have an effect in this run.
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
            Self::Marks => matches!(config.mode.name, "tx" | "rx" | "ping"),
            Self::Tx => config.mode.name == "tx",
        }
    }

    /// Why they have none.
    pub(super) fn missing(self, config: &Config) -> String {
        match self {
            Self::Makes | Self::Lengths if config.mode.sends() => "the frames come as they are".to_owned(),
            _ => format!("has no effect with -f {}", config.mode.name),
        }
    }
}
