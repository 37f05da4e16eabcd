//! `-f txseq`: sends frames with the numbers of netmap's pkt-gen: 32 bits, in network byte order, at the start of the
//! UDP payload, with the right checksum for each. They carry no mark.

use super::modes::{Mode, Role};
use super::tx::Tx;

pub(super) const MODE: Mode = Mode {
    name: "txseq",
    about: "send frames numbered as netmap's pkt-gen does",
    role: Role::Sender,
    burst: 512,
    single: true,
    far: Some(&super::rxseq::MODE),
    job: |setup, lanes| Box::new(Tx::new(setup, lanes)),
};
