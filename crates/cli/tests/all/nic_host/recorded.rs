//! Cards that are not here, from recorded trees; and a recording of what is here.

use super::{apart, card, document, fits, nic};
use linerate_host::VethPair;

#[test]
fn recorded_cards_are_shown_in_80_columns_with_freebsds_names() {
    for (name, interface, wanted) in [
        (
            "ixgbe-82599",
            "ens2f0",
            &[
                "\tmedia: Ethernet manual (10Gbase-SR <full-duplex>)\n",
                "\t\tmedia 10Gbase-SR mediaopt full-duplex\n",
                "VLAN_HWTAGGING",
                "rx-lro                           off [requested on] LRO\n",
                "temperature        30.14 C\n",
                "rx-1, tx-1         interrupt 165 on CPU 1\n",
                "PCIe               5 GT/s x8, 32.0 Gb/s each way\n",
                "ring rx            512 of 4096\n",
                "tx-1 tied to       CPUs 1\n",
                "error correction   Operation not supported\n",
            ][..],
        ),
        (
            "mlx5-connectx",
            "p3p1",
            &[
                "\tmedia: Ethernet autoselect (100GBase-SR4 <full-duplex>)\n\tstatus: active\n\tsupported media:\n\t\tmedia autoselect\n",
                "narrowed by        0000:ae:00.0: 8 GT/s x8",
                "rx-0               NAPI 600, interrupt 201 on CPU 1\n",
                "identifier         QSFP28\n",
                "active             RS\n",
                "tx_cqe_moder                     off\n",
            ],
        ),
        (
            "ice-e810",
            "eth0",
            &[
                "\tstatus: no carrier (Cable issue: Unsupported cable)\n",
                "cannot read module EEPROM memory: Invalid argument\n",
                "pause frames       Operation not permitted\n",
            ],
        ),
    ] {
        let from = card(name);
        let from = from.to_str().unwrap();
        let text = nic(&["show", interface, "--from", from]);
        // Broken lines are put together again.
        let joined = text.replace("\n\t                   ", " ");
        for words in wanted {
            assert!(text.contains(words) || joined.contains(words), "{name} lacks {words:?}:\n{text}");
        }
        fits(&text);
        fits(&nic(&["list", "--from", from]));
        fits(&nic(&["stats", interface, "--from", from, "--interval", "0", "--all"]));
    }
}

#[test]
fn counters_that_are_zero_are_left_out() {
    let from = card("mlx5-connectx");
    let from = from.to_str().unwrap();
    let some = nic(&["stats", "p3p1", "--from", from, "--interval", "0.01"]);
    for words in ["driver\n", "queue rx-0\n", "eth-mac\n", "rmon\n", "fec\n", "845270822", "rates over 0.0"] {
        assert!(some.contains(words), "{words}: {some}");
    }
    assert!(!some.contains("rx_lro_packets"), "{some}");
    let card = card("ixgbe-82599");
    let text = nic(&["stats", "ens2f0", "--from", card.to_str().unwrap(), "--interval", "0", "--all"]);
    for words in
        ["driver, queue rx-1\n\trx_queue_1_packets", "not told\n", "queues             Operation not supported\n"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    let all = nic(&["stats", "p3p1", "--from", from, "--interval", "0", "--all"]);
    assert!(all.contains("rx_lro_packets"), "{all}");
    let row = |document: &serde_json::Value| {
        let rows = document["counters"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == "FramesReceivedOK").unwrap()["value"].as_u64()
    };
    assert_eq!(row(&document(&["stats", "p3p1", "--from", from, "--interval", "0"])), Some(845_320_280));
}

#[test]
fn a_recording_is_shown_as_the_interface_was() {
    apart(|| {
        let _pair = VethPair::new(["ra", "rb"], 2, 1500).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().join("tree");
        let tree = tree.to_str().unwrap();
        let said = nic(&["record", "ra", tree]);
        assert!(said.contains("nic show --from="), "{said}");
        assert_eq!(document(&["show", "ra", "--from", tree]), document(&["show", "ra"]));
        // The far end has its name, where it is in the same namespace.
        assert!(nic(&["show", "ra"]).contains("lower or far end   rb\n"), "{}", nic(&["show", "ra"]));
        assert!(nic(&["list", "--from", tree]).contains("\nra              veth "));
    });
}
