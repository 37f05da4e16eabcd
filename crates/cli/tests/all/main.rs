//! Tests of `linerate` as a program: each file is a command, or a property of all commands. One program, so that little
//! is linked and tests that wait let others run.

mod bench;
mod conformance;
mod control;
mod fcoe;
mod fcoe_copy;
mod fcoe_flushed;
mod fcoe_ip;
mod fcoe_kernel;
mod fcoe_rig;
mod fcoe_status;
mod forwarders;
mod help;
mod interrupted;
mod made;
mod names;
mod nic;
mod nic_vis;
mod nic_vis_rig;
mod pkt_gen;
mod privileges;
mod process;
mod profile;
mod rig;
mod sigterm;
mod stack;
mod switch;
mod switch_groups;
mod switch_loops;
mod switch_rig;
mod terminal;
mod trials;
mod unwritten;
mod walls;
mod wrong;
mod xdd_kernel;
