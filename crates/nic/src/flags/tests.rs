//! Tests of the rules against the published table, row by row.

use super::*;

/// The published table; lines of `bit,label,set_value,note`.
const TABLE: &str = include_str!("../../emulex_offload_flags.csv");

struct Row {
    bit: u32,
    label: &'static str,
    words: Vec<&'static str>,
    note: &'static str,
}

fn table() -> Vec<Row> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#')).skip(1);
    let rows = lines.map(|line| {
        let mut columns = line.splitn(4, ',');
        let mut column = || columns.next().unwrap();
        let bit = column().parse().unwrap();
        let label = column();
        let words = column().split(" or ").filter(|word| !word.is_empty()).collect();
        Row { bit, label, words, note: column() }
    });
    rows.collect()
}

fn row_of(flag: Flags) -> &'static Flag {
    FLAGS.iter().find(|row| row.flag == flag).unwrap()
}

fn adapter() -> AdapterFlags {
    AdapterFlags::new(PUBLISHED)
}

#[test]
fn the_published_line_is_printed_and_read() {
    let options = "options=507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO,\
                   VLAN_HWFILTER,VLAN_HWTSO>";
    let capabilities = options.replace("options", "capabilities");
    assert_eq!(adapter().to_string(), format!("{options}\n{capabilities}"));
    for line in [options, &capabilities, &format!("\t{options}\n"), options.trim_start_matches("options=")] {
        assert_eq!(line.parse(), Ok(PUBLISHED), "{line}");
    }
}

#[test]
fn every_row_of_the_published_table_is_obeyed() {
    let rows = table();
    assert_eq!(rows.len(), 11);
    assert_eq!(rows.iter().fold(0, |set, row| set | 1 << row.bit), PUBLISHED.0);
    for row in rows {
        let flag = Flags(1 << row.bit);
        assert_eq!(flag.to_string(), format!("{:x}<{}>", flag.0, row.label));
        assert_eq!(row_of(flag).label, row.label);
        for word in &row.words {
            assert!(row_of(flag).words.contains(word), "{word} sets {}", row.label);
        }
        let mut flags = adapter();
        let off = flags.apply(&format!("-{}", row_of(flag).words[0]));
        match row.note {
            "cannot be changed" => {
                assert!(row.words.is_empty());
                assert_eq!(off, Err(FlagError::Fixed(row.label)));
                assert_eq!(flags.apply(row_of(flag).words[0]), Err(FlagError::Fixed(row.label)));
                assert_eq!(flags, adapter());
            }
            "cannot be disabled" => {
                assert_eq!(off, Err(FlagError::AlwaysOn(row.label)));
                assert_eq!(flags.apply(row.words[0]), Ok(Flags::NONE));
                assert_eq!(flags, adapter());
            }
            "clearing it also disables TSO4 and TSO6" => {
                assert_eq!(off, Ok(Flags::TXCSUM.union(Flags::TSO4).union(Flags::TSO6)));
                assert_eq!(flags.enabled(), PUBLISHED.difference(off.unwrap()));
                assert_eq!(flags.capabilities(), PUBLISHED);
            }
            note => {
                let known = ["", "both act on TSO4 only", "the manual's \"lso\" is a misprint for lro"];
                assert!(known.contains(&note), "a rule without a test: {note}");
                for word in &row.words {
                    let mut flags = adapter();
                    assert_eq!(flags.apply(&format!("-{word}")), Ok(flag), "{word}");
                    assert_eq!(flags.enabled(), PUBLISHED.difference(flag), "{word}");
                    assert_eq!(flags.apply(word), Ok(flag), "{word}");
                    assert_eq!(flags, adapter());
                }
            }
        }
    }
    assert_eq!(adapter().apply("lso"), Err(FlagError::Unknown("lso".into())));
}

/// Suggestions for words that are no flags.
#[test]
fn words_with_typing_errors_and_of_other_systems_have_a_meaning() {
    for (word, mend) in [
        ("rxcsun", "did you mean rxcsum?"),
        ("-vlanhwtsu", "did you mean -vlanhwtso?"),
        ("vlan_hwtso", "did you mean VLAN_HWTSO?"),
        ("vlanhwtagg", "did you mean vlanhwtag?"),
        ("tos6", "did you mean tso6?"),
        ("LRO4", "did you mean lro?"),
        ("lso", "did you mean tso or lro?"),
        ("-lso", "did you mean -tso or -lro?"),
        ("gso", "did you mean tso?"),
        ("rsc", "did you mean lro?"),
        ("checksum", "did you mean rxcsum or txcsum?"),
        ("vlan", "did you mean vlanhwtag?"),
        ("jumbo", "did you mean mtu=9000, or less?"),
        ("fast", "give one of rxcsum, txcsum, vlanmtu, "),
    ] {
        let line = adapter().apply(word).unwrap_err().to_string();
        assert!(line.starts_with(&format!("{word}: no such flag: {mend}")), "{line}");
    }
    // The suggested words exist.
    for word in ["VLAN_HWTSO", "tso", "lro", "rxcsum", "txcsum", "vlanhwtag"] {
        assert!(adapter().apply(word).is_ok(), "{word}");
    }
}

#[test]
fn segmentation_comes_back_only_after_checksums() {
    let mut flags = adapter();
    flags.apply("-txcsum").unwrap();
    for (word, flag) in [("tso", "TSO4"), ("tso6", "TSO6")] {
        assert_eq!(flags.apply(word), Err(FlagError::Needs { flag, needs: "TXCSUM" }));
    }
    assert_eq!(flags.apply("txcsum"), Ok(Flags::TXCSUM), "TSO does not come back by itself");
    assert_eq!(flags.apply("tso"), Ok(Flags::TSO4));
    assert_eq!(flags.apply("tso6"), Ok(Flags::TSO6));
    assert_eq!(flags, adapter());
}

#[test]
fn checksums_on_ipv6_are_apart_where_the_adapter_has_them() {
    let mut flags = AdapterFlags::new(PUBLISHED.union(Flags::RXCSUM_IPV6).union(Flags::TXCSUM_IPV6));
    assert_eq!(flags.apply("-txcsum6"), Ok(Flags::TXCSUM_IPV6.union(Flags::TSO6)));
    assert_eq!(flags.apply("tso6"), Err(FlagError::Needs { flag: "TSO6", needs: "TXCSUM_IPV6" }));
    assert_eq!(adapter().apply("-txcsum6"), Err(FlagError::Unsupported("TXCSUM_IPV6")));
}

#[test]
fn ethtools_words_act_as_ifconfigs() {
    for (word, flag) in [
        ("rx", Flags::RXCSUM),
        ("gro", Flags::LRO),
        ("txvlan", Flags::VLAN_HWTAGGING),
        ("rxvlan", Flags::VLAN_HWTAGGING),
        ("rx-vlan-filter", Flags::VLAN_HWFILTER),
        ("tcp-segmentation-offload", Flags::TSO4),
    ] {
        assert_eq!(adapter().apply(&format!("-{word}")), Ok(flag), "{word}");
        assert_eq!(adapter().set(flag, false), Ok(flag), "{word}");
    }
    assert_eq!(adapter().apply("-tx"), adapter().apply("-txcsum"));
}

#[test]
fn words_name_one_flag_each_and_errors_are_one_line() {
    let words: Vec<_> = FLAGS.iter().flat_map(|row| row.words).collect();
    for (at, word) in words.iter().enumerate() {
        assert!(!words[..at].contains(word), "{word} twice");
    }
    for row in FLAGS {
        assert_eq!(row.flag.to_string(), format!("{:x}<{}>", row.flag.0, row.label));
    }
    for word in ["", "-", "--txcsum", "nonsense", "-vlanmtu", "-vlanhwtso", "jumbomtu", "txcsum6"] {
        let error = adapter().apply(word).unwrap_err().to_string();
        assert!(!error.contains('\n') && error.contains(": "), "{error}");
    }
    assert!(adapter().set(Flags(3), true).is_err(), "two bits are no flag");
}

#[test]
fn lines_that_ifconfig_does_not_print_are_refused() {
    for line in
        ["", "507bb", "3<RXCSUM", "+3<RXCSUM,TXCSUM>", "options=<>", "3<RXCSUM, TXCSUM>", "100000000<>", "1<rxcsum>"]
    {
        assert_eq!(line.parse::<Flags>(), Err(FlagError::Line(line.into())));
    }
    assert!(matches!("3<RXCSUM>".parse::<Flags>(), Err(FlagError::Contradiction { number: 3, .. })));
    for set in [Flags(0), Flags(1), Flags(u32::MAX), Flags(0x8005_0000)] {
        assert_eq!(set.to_string().parse(), Ok(set));
    }
    assert_eq!(Flags::NONE.to_string(), "0<>");
}
