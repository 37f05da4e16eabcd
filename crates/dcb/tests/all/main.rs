//! LLDP and DCBX, bytes in and bytes out, with a clock of the test's own.

mod agent;
mod hostile;
mod pairs;
mod replay;
mod rig;
