//! Names of codes (SFF-8024).

const IDENTIFIERS: &[(u8, &str)] = &[
    (0x01, "GBIC"),
    (0x02, "soldered to motherboard"),
    (0x03, "SFP"),
    (0x04, "300 pin XBI"),
    (0x05, "XENPAK"),
    (0x06, "XFP"),
    (0x0a, "X2"),
    (0x0b, "DWDM-SFP"),
    (0x0c, "QSFP"),
    (0x0d, "QSFP+"),
    (0x0e, "CXP"),
    (0x11, "QSFP28"),
    (0x12, "CXP2"),
    (0x18, "QSFP-DD"),
    (0x19, "OSFP"),
    (0x1a, "SFP-DD"),
    (0x1b, "DSFP"),
    (0x1e, "QSFP+ with CMIS"),
    (0x1f, "SFP-DD with CMIS"),
    (0x20, "SFP+ with CMIS"),
];

const CONNECTORS: &[(u8, &str)] = &[
    (0x01, "SC"),
    (0x07, "LC"),
    (0x08, "MT-RJ"),
    (0x09, "MU"),
    (0x0a, "SG"),
    (0x0b, "Optical pigtail"),
    (0x0c, "MPO Parallel Optic"),
    (0x0d, "MPO Parallel Optic - 2x16"),
    (0x20, "HSSDC II"),
    (0x21, "Copper pigtail"),
    (0x22, "RJ45"),
    (0x23, "No separable connector"),
    (0x24, "MXC 2x16"),
    (0x25, "CS optical connector"),
    (0x26, "SN optical connector"),
    (0x27, "MPO 2x12"),
    (0x28, "MPO 1x16"),
];

/// Extended compliance.
const EXTENDED: &[(u8, &str)] = &[
    (0x01, "100G AOC or 25GAUI C2M AOC with worst BER of 5x10^(-5)"),
    (0x02, "100G Base-SR4 or 25GBase-SR"),
    (0x03, "100G Base-LR4 or 25GBase-LR"),
    (0x04, "100G Base-ER4 or 25GBase-ER"),
    (0x05, "100G Base-SR10"),
    (0x06, "100G CWDM4 MSA with FEC"),
    (0x07, "100G PSM4 Parallel SMF"),
    (0x08, "100G ACC or 25GAUI C2M ACC with worst BER of 5x10^(-5)"),
    (0x09, "100G CWDM4 MSA without FEC"),
    (0x0b, "100G Base-CR4 or 25G Base-CR CA-L"),
    (0x0c, "25G Base-CR CA-S"),
    (0x0d, "25G Base-CR CA-N"),
    (0x10, "40G Base-ER4"),
    (0x16, "10G Base-T with SFI electrical interface"),
    (0x17, "100G CLR4"),
    (0x18, "100G AOC or 25GAUI C2M AOC with worst BER of 10^(-12)"),
    (0x19, "100G ACC or 25GAUI C2M ACC with worst BER of 10^(-12)"),
    (0x1c, "10G Base-T Short Reach"),
    (0x1d, "5G Base-T"),
    (0x1e, "2.5G Base-T"),
    (0x25, "100G Base-DR"),
    (0x26, "100G-FR or 100GBASE-FR1"),
    (0x27, "100G-LR or 100GBASE-LR1"),
    (0x40, "50GBASE-CR, 100GBASE-CR2 or 200GBASE-CR4"),
    (0x41, "50GBASE-SR, 100GBASE-SR2 or 200GBASE-SR4"),
    (0x42, "50GBASE-FR or 200GBASE-DR4"),
    (0x44, "50GBASE-LR"),
];

fn named(table: &[(u8, &str)], code: u8) -> Option<String> {
    table.iter().find(|(one, _)| *one == code).map(|(_, name)| (*name).to_owned())
}

pub(super) fn identifier(code: u8) -> String {
    named(IDENTIFIERS, code).unwrap_or_else(|| format!("kind {code:#04x}"))
}

pub(super) fn connector(code: u8) -> Option<String> {
    (code != 0).then(|| named(CONNECTORS, code).unwrap_or_else(|| format!("connector {code:#04x}")))
}

pub(super) fn extended(code: u8) -> Option<String> {
    (code != 0).then(|| named(EXTENDED, code).unwrap_or_else(|| format!("compliance {code:#04x}")))
}

/// Names of the bits of a byte that are set.
pub(super) fn bits(byte: Option<u8>, names: &[(u8, &str)]) -> Vec<String> {
    let byte = byte.unwrap_or(0);
    names.iter().filter(|(bit, _)| byte & bit != 0).map(|(_, name)| (*name).to_owned()).collect()
}
