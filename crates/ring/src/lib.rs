//! netmap's memory in user space: regions, rings, slots, buffers, and their hand-over between threads and processes.
