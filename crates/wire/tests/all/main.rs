//! Formats against others' parsers, and against hostile bytes. One program, so that little is linked.

mod etherparse;
mod fip;
mod hostile;
mod icmp;
mod lldp;
