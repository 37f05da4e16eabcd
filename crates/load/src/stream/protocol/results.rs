//! Results of one end, as the ends exchange them.

use super::message::Malformed;
use super::value::{known, whole};
use linerate_text::{plain, plain_lines};
use serde::{Deserialize, Serialize, Serializer};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Processor time, per cent of one processor: all, in user mode, in the kernel.
    pub cpu_util_total: f64,
    pub cpu_util_user: f64,
    pub cpu_util_system: f64,
    /// 1 if this end sends and knows of segments sent again, 0 if it sends and does not, `None` if it only receives.
    #[serde(deserialize_with = "known", serialize_with = "or_minus_one")]
    pub sender_has_retransmits: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Output of the server, if the client asked for it: lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// The same of a server that makes documents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_json: Option<serde_json::Value>,
    pub streams: Vec<StreamResult>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResult {
    /// Number of the stream, as both ends count them: 1, 3, 4, 5 and so on.
    #[serde(deserialize_with = "whole")]
    pub id: u64,
    /// Bytes sent or received, without what was left out at the beginning.
    #[serde(deserialize_with = "whole")]
    pub bytes: u64,
    /// Segments sent again; `None` if not known.
    #[serde(deserialize_with = "known", serialize_with = "or_minus_one")]
    pub retransmits: Option<u64>,
    /// Jitter of a receiver of datagrams, seconds.
    pub jitter: f64,
    /// Datagrams lost.
    #[serde(deserialize_with = "whole")]
    pub errors: u64,
    /// Datagrams sent, or the highest number received.
    #[serde(deserialize_with = "whole")]
    pub packets: u64,
    /// Beginning of the count, seconds.
    #[serde(default)]
    pub start_time: f64,
    /// End of the count, seconds.
    #[serde(default)]
    pub end_time: f64,
}

fn or_minus_one<S: Serializer>(n: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    match n {
        Some(n) => to.serialize_u64(*n),
        None => to.serialize_i64(-1),
    }
}

impl Results {
    /// Longest message with results of a client, bytes of JSON: of as many streams as there can be.
    pub const LONGEST_OF_CLIENT: u32 = 128 << 10;
    /// Longest message with results of a server, which may have its whole output in it.
    pub const LONGEST_OF_SERVER: u32 = 64 << 20;

    /// Results that a peer sent. Its words drive no terminal.
    pub fn read(json: &[u8]) -> Result<Self, Malformed> {
        let read: Self = serde_json::from_slice(json)?;
        Ok(Self {
            congestion_used: read.congestion_used.as_deref().map(plain),
            server_output_text: read.server_output_text.as_deref().map(plain_lines),
            ..read
        })
    }

    /// Number of a stream, of its place: iperf3 never gives the number 2.
    #[must_use]
    pub fn id(place: usize) -> u64 {
        if place == 0 { 1 } else { place as u64 + 2 }
    }
}
