//! Ports: one file per kind, the port grammar, and wrappers.
