//! Data Center Bridging by what `dcb` prints, and pauses that grow while they are looked at.

use super::super::Severity;
use super::hosts::{grown, of, printed};
use super::tree::Tree;

const HOST: &str = "\
# ip -d -s addr
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9000 qdisc mq state UP group default qlen 1000
    link/ether 3c:fd:fe:9c:11:20 brd ff:ff:ff:ff:ff:ff promiscuity 0
    inet 192.0.2.20/24 scope global eth0
# ethtool -i eth0
driver: mlx5_core
bus-info: 0000:81:00.0
# ethtool eth0
Settings for eth0:
\tSpeed: 25000Mb/s
# dcb ets show dev eth0
willing off ets-cap 8 cbs off
tc-bw 0:100 1:0 2:0 3:0 4:0 5:0 6:0 7:0
pg-bw 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0
tc-tsa 0:ets 1:ets 2:strict 3:strict 4:strict 5:strict 6:strict 7:strict
prio-tc 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
# dcb -s pfc show dev eth0
pfc-cap 8 macsec-bypass off delay 0
prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off
requests 0:0 1:0 2:0 3:0 4:0 5:0 6:0 7:0
indications 0:0 1:0 2:0 3:34 4:0 5:0 6:0 7:0
# dcb app show dev eth0
ethtype-prio 0x8906:4
# dcb buffer show dev eth0
prio-buffer 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:0
buffer-size 0:128Kb 1:16Kb 2:0b 3:0b 4:0b 5:0b 6:0b 7:0b
total-size 256Kb
";

#[test]
fn faults_of_dcb_are_found_in_what_iproute2_prints() {
    let all = printed(&[("host.txt", HOST)]);
    let mends = ["dcb-share", "dcb-fcoe", "dcb-headroom", "dcb-pauses"].map(|rule| of(&all, rule));
    let (error, warning, note) = (Severity::Error, Severity::Warning, Severity::Note);
    let wanted = [
        (warning, "dcb ets set dev eth0 tc-bw 1:50, and less for others: they sum to 100"),
        (error, "dcb pfc set dev eth0 prio-pfc 4:on"),
        // By hand: three frames of 9018 and 24 bytes, 84 of the pause frame, 80 quanta of 64 bytes.
        (warning, "dcb buffer set dev eth0 buffer-size 1:32K, or more for a long cable"),
        (note, "find what is slow at the neighbour, or behind it"),
    ];
    assert_eq!(mends, wanted.map(|one| vec![one]), "{all:#?}");
    // In separate files, too, and nothing is left unread.
    let (first, rest) = HOST.split_at(HOST.find("# dcb app").unwrap());
    assert_eq!(of(&printed(&[("a", first), ("b", rest)]), "dcb-fcoe"), [wanted[1]]);
    assert!(all.untaken.is_empty(), "{:?}", all.untaken);
    let well = HOST
        .replace("1:0 2:0 3:0 4:0 5:0 6:0 7:0\npg", "1:50 2:0 3:0 4:0 5:0 6:0 7:0\npg")
        .replace("tc-bw 0:100", "tc-bw 0:50");
    let well = well.replace("8906:4", "8906:3").replace("1:16Kb", "1:64Kb").replace("3:34", "3:0");
    let all = printed(&[("host.txt", &well)]);
    assert!(all.findings.iter().all(|one| !one.rule.starts_with("dcb-")), "{all:#?}");
}

#[test]
fn pauses_that_grow_are_told_and_a_storm_is_a_warning() {
    let tree = |sent: u8, came: u8| {
        let tree = Tree::new(&[]);
        let zeros = |bytes: usize| "00".repeat(bytes);
        let pfc =
            format!("0808000000000000 {} {sent:02x} {} {came:02x} {}", zeros(24), zeros(7 + 32 + 24), zeros(7 + 32));
        tree.put("netlink/dcb", &format!("message\nraw hex 00150000\n13 {{\n2 hex {pfc}\n}}\n"));
        tree
    };
    let pauses = |sent: u8, came: u8| {
        let all = grown(&tree(9, 9), &tree(9 + sent, 9 + came));
        all.findings
            .iter()
            .filter(|one| one.rule == "dcb-pauses")
            .map(|one| (one.severity, one.what.clone()))
            .collect::<Vec<_>>()
    };
    let (slow, note) = ("this end pauses priority 3, 50 times now", Severity::Note);
    assert_eq!(pauses(50, 0), [(note, slow.to_owned())]);
    assert_eq!(pauses(0, 50), [(note, "the neighbour pauses priority 3, 50 times now".to_owned())]);
    // At 10 Gb/s 149 of the longest stop it for half a second.
    let storm = "pauses come so fast that priority 3 may stand still: a storm";
    assert_eq!(pauses(0, 149), [(Severity::Warning, storm.to_owned())]);
    assert_eq!(pauses(0, 148)[0].0, note);
    assert!(pauses(3, 3).is_empty(), "a few are usual");
}
