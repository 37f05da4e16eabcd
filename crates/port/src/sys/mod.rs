//! System calls of ports. `unsafe` of this crate stands here and nowhere else.

pub(crate) mod seqpacket;
