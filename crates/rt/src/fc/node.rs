//! A Fibre Channel node on a port, in one thread.

use super::{FcRx, FcTx};
use crate::dcb::{DcbClient, DcbError};
use crate::identity::host_hash;
use crate::line::{Line, local_mac};
use crate::machine::Sleeper;
use crate::machine::{Machine, Progress};
use crate::net::{self, Ip, IpTx, NetError, Service, Services};
use crate::random;
use linerate_dcb::{Congestion, Selector, Settings, Table};
use linerate_fcoe::{AuthConfig, DeviceServer, FipMode, Node, NodeConfig, NodeEvent};
use linerate_nic::{Control, MAX_MTU, NicError, NicRx};
use linerate_port::{Info, Link, OpenError, Port, Spec};
use linerate_stack::{BindError, Cidr, Host};
use linerate_wire::{EtherType, FipFrame, MacAddr, Priority, VlanTag, Wwn};
use std::iter::once;
use thiserror::Error;

/// Most frames processed between two turns of everything else. With more, both ends of a cable would alternate: one
/// would be idle until the other has processed all its frames.
const BATCH: usize = 32;
/// Time that a logout may take before the node ends without an answer, in ns.
const PARTING: u64 = 2_000_000_000;
/// Bytes after the Ethernet header in a full FCoE frame.
const FULL: usize = 2158;
/// MTU requested of a port that has none of its own: a full frame and its tags, as usual in FCoE networks.
pub const WANTED: u16 = 2180;
/// Smallest MTU with which a port can log in: 256 bytes of payload (FC-LS-3, clause 6.6.2.6).
const LEAST: usize = 302;
/// Time between two looks at the MTU of the port's interface, in ns.
const LOOKS: u64 = 1_000_000_000;
/// The node's interface of the adapter.
const FC: usize = 0;
/// Interface of the IP host that shares the port.
pub const IP: usize = 1;
/// Default for the longest IP packet on an FCoE port: its other stations need not carry longer ones.
const IP_MTU: usize = 1500;

#[derive(Clone, Debug, Default)]
pub struct FcOptions {
    /// MAC address of the ENode; by default the port's own, or one that goes with the port's name on this host.
    pub mac: Option<MacAddr>,
    /// Port name; by default made from the MAC address, as Linux does.
    pub wwpn: Option<Wwn>,
    /// Node name; by default made from the MAC address too.
    pub wwnn: Option<Wwn>,
    /// VLAN tag of all frames.
    pub vlan: Option<VlanTag>,
    /// Most bytes after the Ethernet header; by default the port's MTU.
    pub mtu: Option<usize>,
    /// Exactly one other port is expected, not any number.
    pub point_to_point: bool,
    /// Rate of the link in bit/s, from which congestion points slow the port's senders down (QCN); None: they are not heard.
    pub reaction: Option<u64>,
}

/// Reason for which a node could not be set up.
#[derive(Debug, Error)]
pub enum FcError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("an MTU of {0} does not do on {1}: give {LEAST} to {2}{mend}", mend = larger(*.2))]
    Mtu(usize, String, usize),
    #[error("{0}: it has no queue for each way, and a node needs both: choose another port")]
    OneWay(String),
    #[error(transparent)]
    Nic(#[from] NicError),
    /// The IP host that shares the port could not be set up.
    #[error(transparent)]
    Net(#[from] NetError),
    /// A service of the IP host could not be opened.
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(
        "WWPN {0} is in use on this network by MAC {1}: give another with --wwpn, or end that port and wait until it is \
         gone, 20 s at most"
    )]
    NameInUse(Wwn, MacAddr),
    /// Another station has the port's name and MAC address.
    #[error(
        "another station on this network has our MAC {1} and WWPN {0}: end it, or give others with --mac and --wwpn"
    )]
    Twin(Wwn, MacAddr),
    /// There are no random numbers for challenges.
    #[error("the system has no random numbers: {0}; an authentication needs them")]
    Random(#[from] getrandom::Error),
    #[error("{0} is a group's address: give a station's, whose first byte is even")]
    Group(MacAddr),
    /// Data Center Bridging could not be set up.
    #[error(transparent)]
    Dcb(#[from] DcbError),
}

/// Advice how a port with this largest MTU may carry full frames; empty if it does.
fn larger(mtu: usize) -> String {
    if mtu < FULL { format!(", or open it with ,mtu={WANTED} for full FCoE frames") } else { String::new() }
}

/// Observer of a node's events and turns.
pub trait Watcher<S> {
    fn event(&mut self, now: u64, event: &NodeEvent, node: &mut Node<S>);

    /// A turn of the loop: true if there was something to do.
    fn turn(&mut self, now: u64, node: &mut Node<S>) -> bool;

    /// Time of the next turn even if nothing arrives.
    fn poll_timeout(&self) -> Option<u64>;

    /// Visits further sleepers to wait for.
    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper));

    /// True if all its work is done.
    fn is_done(&self) -> bool;

    /// Called with a new note of the port for the user, in one line, that was not there when the node was set up.
    fn note(&mut self, _note: &str) {}
}

/// A node and its port: a machine for [`crate::run`]. When it is stopped, it logs out first.
pub struct FcNode<S, W> {
    node: Node<S>,
    watcher: W,
    line: Line,
    /// Receive halves of the adapter's other queues: frames arrive by whichever the port chooses.
    others: Vec<NicRx>,
    tx: FcTx,
    rx: FcRx,
    /// IP host that shares the port, and its services.
    ip: Option<(Ip, Services)>,
    /// LLDP and DCBX at the port, and their interface.
    dcb: Option<(DcbClient, usize)>,
    config: NodeConfig,
    /// MTU of the port's interface when it was last looked at, and time of the next look.
    mtu: (Option<usize>, u64),
    /// MAC address of the VN_Port that the adapter was asked to receive.
    own: Option<MacAddr>,
    /// The node has had an address.
    begun: bool,
    /// Station that has had the node's name since before the node began.
    holder: Option<MacAddr>,
    /// Time at which it ends even without an answer to its logout.
    parting: Option<u64>,
}

/// An open port, for a node whose names are known.
pub struct FcPort {
    port: Port,
    info: Info,
    config: NodeConfig,
    ip: Option<WantedIp>,
    auth: Option<AuthConfig>,
    reaction: Option<u64>,
    dcb: Option<Settings>,
}

/// Parameters of an IP host to be set up beside a node.
struct WantedIp {
    addresses: Vec<Cidr>,
    options: net::Options,
    services: Vec<&'static Service>,
}

impl FcPort {
    /// Opens a port. If neither it nor its other end has an MTU of its own, it carries full frames.
    pub fn open(port: &str, options: &FcOptions) -> Result<Self, FcError> {
        Self::over(Spec::parse(port)?.wanting_mtu(WANTED).open()?, options)
    }

    /// Uses an open port, which has a queue each way.
    pub fn over(port: Port, options: &FcOptions) -> Result<Self, FcError> {
        let info = port.info().clone();
        let mtu = options.mtu.unwrap_or(info.mtu);
        if mtu > info.mtu || mtu < LEAST {
            return Err(FcError::Mtu(mtu, info.name, info.mtu));
        }
        let seed = random();
        let mac = address(options.mac, &info)?;
        let config = NodeConfig::new(mac, mtu, seed);
        let config = NodeConfig {
            wwpn: options.wwpn.unwrap_or(config.wwpn),
            wwnn: options.wwnn.unwrap_or(config.wwnn),
            vlan: options.vlan,
            mode: if options.point_to_point { FipMode::PointToPoint } else { FipMode::Multipoint },
            ..config
        };
        Ok(Self { port, info, config, ip: None, auth: None, reaction: options.reaction, dcb: None })
    }

    /// Lets the port carry IP too: a host with these addresses and services, with the node's MAC address unless another
    /// is given. Its packets are at most 1500 bytes long unless `options` says otherwise.
    #[must_use]
    pub fn with_ip(mut self, addresses: &[Cidr], options: &net::Options, services: &[&'static Service]) -> Self {
        let mtu = options.mtu.or(Some(self.info.mtu.min(IP_MTU)));
        let options = net::Options { mtu, ..options.clone() };
        self.ip = Some(WantedIp { addresses: addresses.to_vec(), options, services: services.to_vec() });
        self
    }

    /// Has the node and others authenticate each other with these secrets, if there are any.
    #[must_use]
    pub fn with_auth(self, auth: Option<AuthConfig>) -> Self {
        Self { auth, ..self }
    }

    /// Has the port negotiate Data Center Bridging with its neighbour, if there are settings for it. The adapter's traffic classes are
    /// those that are operative, and FCoE has the priority of its application.
    #[must_use]
    pub fn with_dcb(self, dcb: Option<Settings>) -> Self {
        Self { dcb, ..self }
    }

    /// Names and addresses of a node on this port; neither target nor initiator yet.
    #[must_use]
    pub fn config(&self) -> NodeConfig {
        self.config
    }

    pub fn node<S: DeviceServer, W: Watcher<S>>(
        self,
        config: &NodeConfig,
        device: S,
        watcher: W,
    ) -> Result<FcNode<S, W>, FcError> {
        let others = [self.ip.is_some(), self.dcb.is_some()];
        let interfaces = 1 + others.into_iter().map(usize::from).sum::<usize>();
        let mut nic = Line::adapter(self.port, interfaces, config.mac, false)?;
        let control = nic.control();
        control.change(FC, |vi| {
            vi.mtu = config.mtu.min(MAX_MTU);
            if interfaces > 1 {
                vi.ethertypes = vec![EtherType::FCOE, EtherType::FIP];
            }
        })?;
        ask(&control, None)?;
        control.react(self.reaction);
        let ip = self.ip.map(|wanted| host(&control, config.mac, &wanted)).transpose()?;
        let last = interfaces - 1;
        let congestion = self.reaction.map_or(Congestion::Off, |_| Congestion::Reacts);
        let settings = self.dcb.map(|settings| Settings { congestion, ..settings });
        let dcb = settings.map(|settings| DcbClient::at(&control, last, config.mac, settings, 0)).transpose()?;
        let mut line = Line::new(&mut nic, 0).ok_or(FcError::OneWay(self.info.name))?;
        let others = (1..nic.info().rx_queues).filter_map(|queue| nic.take_rx(queue)).collect();
        let mut node = Node::new(config, device);
        if let Some(auth) = self.auth {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed)?;
            node.authenticate_with(auth, seed);
        }
        Ok(FcNode {
            mtu: (control.port_mtu(), 0),
            node,
            watcher,
            tx: FcTx::new(&mut line.tx, FC, config.vlan),
            rx: FcRx::new(FC),
            line,
            others,
            ip,
            dcb: dcb.map(|client| (client, last)),
            config: *config,
            own: None,
            begun: false,
            holder: None,
            parting: None,
        })
    }
}

/// Sets up the IP host on its interface, with its services.
fn host(control: &Control, mac: MacAddr, wanted: &WantedIp) -> Result<(Ip, Services), FcError> {
    control.change(IP, |vi| vi.mac = wanted.options.mac.unwrap_or(mac).0)?;
    let mut ip = Ip::new(control, IP, &wanted.addresses, &wanted.options)?;
    let services = Services::open(&mut ip, &wanted.services)?;
    Ok((ip, services))
}

impl<S: DeviceServer, W: Watcher<S>> FcNode<S, W> {
    #[must_use]
    pub fn node(&self) -> &Node<S> {
        &self.node
    }

    /// The watcher, and the node.
    pub fn watcher(&mut self) -> (&mut W, &mut Node<S>) {
        (&mut self.watcher, &mut self.node)
    }

    /// Reports why the node has ended by itself.
    ///
    /// # Errors
    /// [`FcError::NameInUse`], or [`FcError::Twin`], when another station had its name from the beginning. A node that has
    /// once had an address waits for its name instead.
    pub fn check(&self) -> Result<(), FcError> {
        let wwpn = self.config.wwpn;
        match self.holder {
            None => Ok(()),
            Some(holder) if holder == self.config.mac => Err(FcError::Twin(wwpn, holder)),
            Some(holder) => Err(FcError::NameInUse(wwpn, holder)),
        }
    }

    /// Ends the node and returns its watcher.
    #[must_use]
    pub fn into_watcher(self) -> W {
        self.watcher
    }

    /// The adapter's queue, shared with the IP host if there is one.
    #[must_use]
    pub fn line(&self) -> &Line {
        &self.line
    }

    /// The IP host that shares the port, and its services.
    #[must_use]
    pub fn ip(&self) -> Option<&(Ip, Services)> {
        self.ip.as_ref()
    }

    /// The IP host that shares the port, and its output.
    #[inline]
    pub fn ip_parts(&mut self) -> Option<(&mut Host, IpTx<'_>)> {
        let Self { ip, line, .. } = self;
        ip.as_mut().map(|(ip, _)| ip.over(&mut line.tx))
    }

    /// The IP host that shares the port.
    pub fn ip_mut(&mut self) -> Option<&mut Ip> {
        self.ip.as_mut().map(|(ip, _)| ip)
    }

    /// LLDP and DCBX at the port.
    #[must_use]
    pub fn dcb(&self) -> Option<&DcbClient> {
        self.dcb.as_ref().map(|(client, _)| client)
    }

    /// The node's configuration: its addresses and names.
    #[must_use]
    pub fn config(&self) -> &NodeConfig {
        &self.config
    }

    /// Output and input of the node, with their counters.
    #[must_use]
    pub fn lines(&self) -> (&FcTx, &FcRx) {
        (&self.tx, &self.rx)
    }

    /// True if nothing is to be sent any more, after a logout.
    fn is_quiet(&self) -> bool {
        self.node.is_quiet() && !self.dcb().is_some_and(DcbClient::is_held_up)
    }

    fn work(&mut self, now: u64) -> bool {
        let Self { node, line, others, tx, rx, watcher, ip, dcb, begun, holder, .. } = self;
        let Line { tx: output, arrivals } = line;
        if let Some((ip, _)) = ip {
            ip.follow(arrivals.control());
        }
        let mut arrived = 0;
        for queue in once(&mut arrivals.rx).chain(others) {
            arrived += match (&mut *ip, &mut *dcb) {
                (None, None) => {
                    if queue.is_read() {
                        queue.poll(now);
                    }
                    let mut out = tx.over(output, now);
                    rx.receive(queue, BATCH, |frame, _| node.handle(now, frame, &mut out))
                }
                (ip, dcb) => queue.take(now, BATCH, |interface, frame| match (interface, &mut *ip, &mut *dcb) {
                    (FC, ..) => rx.check(frame.head(), |frame, _| node.handle(now, frame, &mut tx.over(output, now))),
                    (IP, Some((ip, _)), _) => ip.handle(now, frame, &mut IpTx::new(output, IP)),
                    (_, _, Some((client, _))) => client.receive(frame.head(), now),
                    _ => {}
                }),
            };
        }
        node.poll(now, &mut tx.over(&mut line.tx, now));
        let own = node.own().map(|(_, mac)| mac);
        if own != self.own {
            self.own = own;
            let before = line.notes();
            // The adapter receives one more address, whatever the port supports.
            let _ = ask(line.control(), own);
            line.notes().iter().filter(|note| !before.contains(note)).for_each(|note| watcher.note(note));
        }
        while let Some(event) = node.poll_event() {
            match event {
                NodeEvent::Address(_) => *begun = true,
                NodeEvent::NameInUse(station) if !*begun => *holder = Some(station),
                _ => {}
            }
            watcher.event(now, &event, node);
        }
        let turned = watcher.turn(now, node);
        if turned {
            node.poll(now, &mut tx.over(&mut line.tx, now));
        }
        arrived > 0 || turned
    }

    /// Tells when somebody has changed the MTU of the port's interface, so that the node's longest frames are lost or pass again.
    fn watch_mtu(&mut self, now: u64) {
        let (was, due) = self.mtu;
        if now < due {
            return;
        }
        let is = self.line.control().port_mtu();
        self.mtu = (is.or(was), now.saturating_add(LOOKS));
        let needed = self.config.mtu.min(FULL);
        if let (Some(was), Some(is)) = (was, is)
            && (was < needed) != (is < needed)
        {
            let what = match is < needed {
                true => format!("longer frames are lost; set it back to {was}"),
                false => "all frames pass again".to_owned(),
            };
            let port = &self.line.info().name;
            self.watcher
                .note(&format!("{port}: the MTU was {was} and is {is}, FCoE's frames here need {needed}: {what}"));
        }
    }

    /// Runs a turn of DCBX, and obeys what is new; true if there was something to do. `link`: its new state.
    fn negotiate(&mut self, now: u64, link: Option<Link>) -> bool {
        let Self { dcb: Some((client, interface)), line, tx, watcher, config, .. } = self else { return false };
        if link == Some(Link::Down) {
            client.set_link(Link::Down, now);
        }
        let sent = client.turn(now, |frame| line.tx.send_first(*interface, frame));
        if let Some(table) = client.obey(line.control()) {
            let [fcoe, fip] = priorities(table);
            tx.set_priorities(&mut line.tx, fcoe, fip);
            let class = fcoe.unwrap_or_else(|| config.vlan.unwrap_or_default().priority());
            // A priority alone is never refused.
            let _ = line.control().change(FC, |vi| vi.priority = class);
        }
        while let Some(event) = client.poll_event() {
            watcher.note(&event.to_string());
        }
        sent
    }

    /// Runs a turn of the IP host; true if there was something to do.
    fn share(&mut self, now: u64) -> bool {
        let Self { ip: Some((ip, services)), line, watcher, .. } = self else { return false };
        let Line { tx, arrivals } = &mut *line;
        let worked = ip.poll(now, arrivals.control(), &mut IpTx::new(tx, IP));
        while let Some(event) = ip.host.poll_event() {
            watcher.note(&event.to_string());
        }
        services.serve(now, ip, line) || worked
    }
}

impl<S: DeviceServer, W: Watcher<S>> Machine for FcNode<S, W> {
    fn handle(&mut self, now: u64) -> Progress {
        self.line.tx.tick(now);
        let link = self.line.changed(now);
        if let (Some(Link::Up), Some((client, _))) = (link, &mut self.dcb) {
            client.set_link(Link::Up, now);
        }
        if let Some(link) = link {
            self.node.set_link(now, link == Link::Up, &mut self.tx.over(&mut self.line.tx, now));
            if let Some((ip, _)) = &mut self.ip {
                ip.set_link(link, &mut IpTx::new(&mut self.line.tx, IP));
            }
        }
        // The link may have changed once more by now: that is looked at before the thread sleeps.
        let mut worked = self.work(now) || link.is_some();
        self.watch_mtu(now);
        worked |= self.negotiate(now, link) | self.share(now);
        self.line.flush(now);
        match self.parting {
            Some(at) if now >= at || self.is_quiet() || self.line.link() != Link::Up => return Progress::Done,
            None if self.watcher.is_done() || self.holder.is_some() => {
                self.stop(now);
                // There may be nobody to wait for.
                return Progress::Worked;
            }
            _ => {}
        }
        if worked { Progress::Worked } else { Progress::Idle }
    }

    fn poll_timeout(&self) -> Option<u64> {
        let ip = self.ip.as_ref().and_then(|(ip, _)| ip.poll_timeout());
        let dcb = self.dcb().map(DcbClient::due);
        let own = [self.node.poll_timeout(), self.watcher.poll_timeout(), self.parting, self.line.resumes(), ip, dcb];
        own.into_iter().flatten().min()
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        let blocked = self.node.is_blocked() || self.dcb().is_some_and(DcbClient::is_held_up);
        self.line.waits_for(blocked, visit);
        self.others.iter_mut().for_each(|queue| visit(queue.port()));
        self.watcher.waits_for(visit);
    }

    fn stop(&mut self, now: u64) {
        if self.parting.is_none() {
            self.parting = Some(now.saturating_add(PARTING));
            self.node.log_out(now, &mut self.tx.over(&mut self.line.tx, now));
            self.dcb.iter_mut().for_each(|(client, _)| client.stop());
            self.line.flush(now);
        }
    }
}

/// MAC address of an ENode: the one given, the port's own, or one that goes with the port's name on this host.
pub(super) fn address(given: Option<MacAddr>, info: &Info) -> Result<MacAddr, FcError> {
    let mac = given.or(info.mac.map(MacAddr)).unwrap_or_else(|| local_mac(host_hash(info.name.as_bytes())));
    if mac.is_multicast() { Err(FcError::Group(mac)) } else { Ok(mac) }
}

/// Priorities of FCoE's frames and of FIP's: those of their applications. FIP has FCoE's if it has no entry of its own.
fn priorities(table: &Table) -> [Option<Priority>; 2] {
    let of = |ethertype: EtherType| table.priority(Selector::EtherType, ethertype.0);
    let own = table.applications.iter().any(|app| app.key() == (Selector::EtherType, EtherType::FIP.0));
    [of(EtherType::FCOE), of(if own { EtherType::FIP } else { EtherType::FCOE })]
}

/// Sets the addresses that a node receives besides its own: FIP's groups, and the VN_Port's.
fn ask(control: &Control, own: Option<MacAddr>) -> Result<(), NicError> {
    let all = [FipFrame::ALL_VN2VN_MACS, FipFrame::ALL_PT2PT_MACS].into_iter().chain(own);
    control.change(FC, |vi| vi.addresses = all.map(|mac| mac.0).collect())
}
