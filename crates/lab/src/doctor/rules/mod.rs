//! The rules: a file and a row each.

mod address_state;
mod arp;
mod asymmetric_route;
mod backlog;
mod bond_half;
mod bond_unwatched;
mod bridge_port;
mod buffers_socket;
mod buffers_tcp;
mod busy_poll;
mod carrier_flaps;
mod checksum_errors;
mod clock_source;
mod coalesce_eager;
mod coalesce_lazy;
mod collisions;
mod congestion_control;
mod conntrack;
mod crc_errors;
mod driver_firmware;
mod duplex;
mod duplicate_address;
mod eee;
mod ends_mtu;
mod ends_pause;
mod ends_speed;
mod feature_refused;
mod fec_errors;
mod firewall;
mod firmware_stored;
mod forwarding;
mod governor;
mod gro;
mod gro_flush;
mod gso;
mod huge_pages;
mod idle_states;
mod interface_down;
mod ip_drops;
mod ip_settings;
mod irq_far;
mod irqbalance;
mod irqs_on_one_core;
mod length_errors;
mod link_down;
mod link_speed;
mod listen_drops;
mod loopback;
mod lro_forwarding;
mod module_options;
mod mtu_forwarded;
mod mtu_of_lower;
mod mtu_of_members;
mod mtu_small;
mod neighbour_fixed;
mod neighbour_table;
mod neighbours;
mod next_hop;
mod no_queue;
mod not_persistent;
mod numa_balancing;
mod one_queue;
mod path_mtu;
mod pause_frames;
mod pause_unlike;
mod pcie_bridge;
mod pcie_speed;
mod pcie_width;
mod peer_claims;
mod peer_handshake;
mod peer_loss;
mod peer_route;
mod peer_silent;
mod peer_tcp;
mod persistent_differs;
mod promiscuous;
mod queue_short;
mod retransmits;
mod reverse_path;
mod ring_rx;
mod route_metrics;
mod rps_on_multiqueue;
mod rps_one;
mod rx_checksum;
mod scatter_gather;
mod shaped;
mod siblings;
mod slow_start_after_idle;
mod somaxconn;
mod super_frames;
mod swap;
mod sysctl_range;
mod tcp_memory;
mod tcp_options;
mod traffic_filters;
mod tso;
mod tx_checksum;
mod tx_drops;
mod udp_drops;
mod veth_checksums;
mod vlan_offload;
mod xdp_copy;
mod xdp_generic;
mod xps;

use crate::doctor::rule::Rule;

/// All rules, in the order in which they look.
pub static RULES: &[Rule] = &[
    link_down::RULE,
    interface_down::RULE,
    duplex::RULE,
    link_speed::RULE,
    pcie_width::RULE,
    pcie_speed::RULE,
    pcie_bridge::RULE,
    firmware_stored::RULE,
    driver_firmware::RULE,
    tx_checksum::RULE,
    rx_checksum::RULE,
    scatter_gather::RULE,
    tso::RULE,
    gso::RULE,
    gro::RULE,
    super_frames::RULE,
    gro_flush::RULE,
    vlan_offload::RULE,
    feature_refused::RULE,
    lro_forwarding::RULE,
    ring_rx::RULE,
    tx_drops::RULE,
    crc_errors::RULE,
    length_errors::RULE,
    collisions::RULE,
    pause_frames::RULE,
    pause_unlike::RULE,
    fec_errors::RULE,
    carrier_flaps::RULE,
    one_queue::RULE,
    irqs_on_one_core::RULE,
    irq_far::RULE,
    irqbalance::RULE,
    xps::RULE,
    rps_on_multiqueue::RULE,
    rps_one::RULE,
    coalesce_lazy::RULE,
    coalesce_eager::RULE,
    mtu_of_lower::RULE,
    mtu_of_members::RULE,
    bond_half::RULE,
    bond_unwatched::RULE,
    mtu_forwarded::RULE,
    mtu_small::RULE,
    xdp_generic::RULE,
    xdp_copy::RULE,
    promiscuous::RULE,
    shaped::RULE,
    queue_short::RULE,
    traffic_filters::RULE,
    no_queue::RULE,
    eee::RULE,
    veth_checksums::RULE,
    module_options::RULE,
    buffers_tcp::RULE,
    buffers_socket::RULE,
    tcp_options::RULE,
    congestion_control::RULE,
    slow_start_after_idle::RULE,
    tcp_memory::RULE,
    sysctl_range::RULE,
    somaxconn::RULE,
    listen_drops::RULE,
    udp_drops::RULE,
    checksum_errors::RULE,
    ip_drops::RULE,
    retransmits::RULE,
    backlog::RULE,
    busy_poll::RULE,
    governor::RULE,
    idle_states::RULE,
    clock_source::RULE,
    siblings::RULE,
    numa_balancing::RULE,
    swap::RULE,
    huge_pages::RULE,
    conntrack::RULE,
    firewall::RULE,
    reverse_path::RULE,
    forwarding::RULE,
    neighbours::RULE,
    neighbour_table::RULE,
    asymmetric_route::RULE,
    next_hop::RULE,
    route_metrics::RULE,
    address_state::RULE,
    ip_settings::RULE,
    loopback::RULE,
    arp::RULE,
    neighbour_fixed::RULE,
    bridge_port::RULE,
    duplicate_address::RULE,
    peer_route::RULE,
    peer_silent::RULE,
    peer_tcp::RULE,
    peer_handshake::RULE,
    peer_claims::RULE,
    peer_loss::RULE,
    path_mtu::RULE,
    ends_mtu::RULE,
    ends_pause::RULE,
    ends_speed::RULE,
    not_persistent::RULE,
    persistent_differs::RULE,
];
