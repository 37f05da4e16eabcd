//! Benches of cost against number: ports of a switch, and sockets, routes and neighbours of a host. The figure is that
//! of many; the peers are the same with few, so the ratio is what the others cost who do nothing.

mod asleep;
mod hosts;
mod ports;

use super::{Bench, How, Peer};
use hosts::Many;
use linerate_result::Unit;

pub(super) const FLOW: Bench = Bench {
    name: "scale-flow",
    about: "64-byte frames between two ports of a switch that has 254, the others idle: the switch's own time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: None,
    run: |setting| ports::flow(setting, 254),
    peers: &[
        Peer { name: "of 2 ports", how: How::Own(|setting| ports::flow(setting, 2)), wanted: Some(0.9) },
        Peer { name: "of 64 ports", how: How::Own(|setting| ports::flow(setting, 64)), wanted: None },
    ],
};

pub(super) const FLOOD: Bench = Bench {
    name: "scale-flood",
    about: "64-byte frames flooded to 253 sleeping ports, each woken for each batch: the switch's own time, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: None,
    run: |setting| ports::flood(setting, 254, ports::Receivers::Asleep),
    peers: &[
        Peer {
            name: "to 253 awake",
            how: How::Own(|setting| ports::flood(setting, 254, ports::Receivers::Awake)),
            wanted: None,
        },
        Peer {
            name: "to 63 asleep",
            how: How::Own(|setting| ports::flood(setting, 64, ports::Receivers::Asleep)),
            wanted: None,
        },
        Peer {
            name: "to 3 asleep",
            how: How::Own(|setting| ports::flood(setting, 4, ports::Receivers::Asleep)),
            wanted: None,
        },
    ],
};

pub(super) const BESIDE: Bench = Bench {
    name: "scale-beside",
    about: "64-byte frames between two ports of a switch that has 64, beside a port that floods all it can, on one core",
    unit: Unit::Pps,
    two_cores: false,
    bound: None,
    run: |setting| ports::beside(setting, 64, true),
    peers: &[Peer {
        name: "without the flood",
        how: How::Own(|setting| ports::beside(setting, 64, false)),
        wanted: Some(0.5),
    }],
};

pub(super) const IDLE: Bench = Bench {
    name: "scale-idle",
    about: "processor time that a switch with 254 idle ports of programs takes in a second",
    unit: Unit::Ns,
    two_cores: false,
    bound: Some(2e6),
    run: |setting| asleep::idle(setting, 254),
    peers: &[
        Peer { name: "of 2 ports", how: How::Own(|setting| asleep::idle(setting, 2)), wanted: None },
        Peer { name: "of 64 ports", how: How::Own(|setting| asleep::idle(setting, 64)), wanted: None },
    ],
};

pub(super) const WAKE: Bench = Bench {
    name: "scale-wake",
    about: "processor time for a frame that wakes a sleeping switch with 254 ports of programs",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| asleep::wake(setting, 254),
    peers: &[
        Peer { name: "of 2 ports", how: How::Own(|setting| asleep::wake(setting, 2)), wanted: Some(0.7) },
        Peer { name: "of 64 ports", how: How::Own(|setting| asleep::wake(setting, 64)), wanted: None },
    ],
};

pub(super) const SOCKETS: Bench = Bench {
    name: "scale-sockets",
    about: "datagrams to 10000 sockets of a host in turn, from the ring to their readers, on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| hosts::receive(setting, 10_000),
    peers: &[
        Peer { name: "to 1 socket", how: How::Own(|setting| hosts::receive(setting, 1)), wanted: None },
        Peer { name: "to 100", how: How::Own(|setting| hosts::receive(setting, 100)), wanted: None },
    ],
};

pub(super) const SENDERS: Bench = Bench {
    name: "scale-senders",
    about: "datagrams from 10000 connected sockets in turn, from the send call to the ring, on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| hosts::send(setting, Many { sockets: 10_000, ..Many::ONE }),
    peers: &[Peer {
        name: "from 100",
        how: How::Own(|setting| hosts::send(setting, Many { sockets: 100, ..Many::ONE })),
        wanted: None,
    }],
};

pub(super) const BIND: Bench = Bench {
    name: "scale-bind",
    about: "a further socket of a host that has 10000, bound and closed, on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| hosts::bind(setting, 10_000),
    peers: &[Peer { name: "of a host that has 1", how: How::Own(|setting| hosts::bind(setting, 1)), wanted: None }],
};

pub(super) const ROUTES: Bench = Bench {
    name: "scale-routes",
    about: "datagrams by the long way to 10000 networks behind a router, each of a route of its own, on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| hosts::send(setting, Many { routes: 10_000, ..Many::ONE }),
    peers: &[
        Peer { name: "without a route", how: How::Own(|setting| hosts::send(setting, Many::ONE)), wanted: Some(0.5) },
        Peer {
            name: "by 1000 routes",
            how: How::Own(|setting| hosts::send(setting, Many { routes: 1000, ..Many::ONE })),
            wanted: None,
        },
    ],
};

pub(super) const NEIGHBOURS: Bench = Bench {
    name: "scale-neighbours",
    about: "datagrams by the long way to 10000 neighbours in turn, on one core",
    unit: Unit::Ns,
    two_cores: false,
    bound: None,
    run: |setting| hosts::send(setting, Many { neighbours: 10_000, ..Many::ONE }),
    peers: &[
        Peer { name: "to 1", how: How::Own(|setting| hosts::send(setting, Many::ONE)), wanted: None },
        Peer {
            name: "to 100",
            how: How::Own(|setting| hosts::send(setting, Many { neighbours: 100, ..Many::ONE })),
            wanted: None,
        },
    ],
};
