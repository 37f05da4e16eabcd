//! Tests with a small program in both dialects.

use super::*;

/// Words that flags have noted, in order.
type Said = Vec<String>;

fn note(said: &mut Said, word: &str) -> Result<(), String> {
    said.push(word.to_owned());
    Ok(())
}

static FLAGS: &[Flag<Said, bool>] = &[
    print("-h --help", false, "show this", || "help".into()),
    set("-A", false, "a letter", |said| said.push("A".into())),
    set("--all -all", false, "a word", |said| said.push("all".into())),
    value("-t --time seconds", true, "how long", |said, v| number(v, 1..=99).map(|n: u8| said.push(n.to_string()))),
    maybe("--mix -mix -m n", false, "perhaps a number", note),
    values("-p --pair A B", false, "two", |said, words| {
        said.push(format!("{}+{}", words.value()?, words.value()?));
        Ok(())
    }),
    one_of(
        "-s --seek way",
        false,
        "where",
        &[
            ("none", Does::Set(|said| said.push("none".into()))),
            ("range", Does::Value(note)),
            ("save", Does::Refused("not done here; give none")),
        ],
        |_, _| Err("give none or range n".into()),
    ),
    refused("-I --indirect", false, "", "there are none; leave it out"),
];

fn program(dialect: Dialect) -> Program<Said, bool> {
    Program { name: "p", usage: "[flags]", dialect, flags: FLAGS, width: 20 }
}

/// Words that the flags of a command line note; checks that they can be applied again.
fn read(dialect: Dialect, text: &str) -> Result<String, String> {
    let (program, mut said, mut again) = (program(dialect), Said::new(), Said::new());
    let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let mut words = Words::new(&arguments);
    while let Some(flag) = program.find(&mut words)? {
        if let Does::Print(text) = flag.does {
            return Ok(text());
        }
        words.give(flag, &mut said)?.set(&mut again)?;
    }
    assert_eq!(said, again, "{text}");
    Ok(said.join(" "))
}

#[test]
fn values_stand_where_the_dialect_has_them() {
    for (text, said) in [
        ("-t60 -t 6 --time 7 --time=8", "60 6 7 8"),
        ("-AAt5 -A", "A A 5 A"),
        ("--mix --all --mix=x --mix 3", " all x 3"),
        ("--pair=a b -pa b", "a+b a+b"),
        ("-Amx -Am7", "A x A 7"),
        ("--seek=range 4 -snone", "4 none"),
        ("help", "help"),
        ("-A --help", "help"),
    ] {
        assert_eq!(read(Dialect::Getopt, text).as_deref(), Ok(said), "{text}");
    }
    for (text, said) in [("-all -t 6 --all", "all 6 all"), ("-p -t -A -mix 3 -mix -s range 4", "-t+-A 3  4")] {
        assert_eq!(read(Dialect::Whole, text).as_deref(), Ok(said), "{text}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_mend() {
    for (dialect, text, line) in [
        (Dialect::Getopt, "-t", "-t: no value; give -t seconds"),
        (Dialect::Getopt, "--time=", "--time: give a number from 1 to 99"),
        (Dialect::Getopt, "-At0", "-t 0: give a number from 1 to 99"),
        (Dialect::Getopt, "--all=1", "--all: takes no value; leave it out"),
        (Dialect::Getopt, "-Ax", "-x: no such flag; -h lists them"),
        (Dialect::Getopt, "--tim 5", "--tim: no such flag; did you mean --time?"),
        (Dialect::Getopt, "--", "--: no such flag; -h lists them"),
        (Dialect::Getopt, "-", "-: no such flag; -h lists them"),
        (Dialect::Getopt, "extra", "extra: not a flag; flags begin with a dash, -h lists them"),
        (Dialect::Getopt, "-p a", "-p a: no value; give -p A B"),
        (Dialect::Getopt, "-s sideways", "-s sideways: give none or range n"),
        (Dialect::Getopt, "-s save", "-s save: save: not done here; give none"),
        (Dialect::Getopt, "-AI", "-I: there are none; leave it out"),
        (Dialect::Whole, "-t60", "-t60: no such flag; -h lists them"),
        (Dialect::Whole, "pair", "pair: no such flag; did you mean --pair?"),
        (Dialect::Whole, "--indirect x", "--indirect: there are none; leave it out"),
        (Dialect::Whole, "-indirekt", "-indirekt: no such flag; -h lists them"),
    ] {
        assert_eq!(read(dialect, text).unwrap_err(), line, "{text}");
    }
}

#[test]
fn lists_follow_from_the_table() {
    let program = program(Dialect::Getopt);
    let help = program.help(|of| if *of { " [of N]" } else { "" });
    assert!(help.starts_with("Usage: p [flags]\n\n  -h, --help\n          show this\n"), "{help}");
    assert!(help.contains("\n  -t, --time [of N] seconds\n") && help.contains("\n  --mix, -mix, -m [n]\n"), "{help}");
    assert_eq!(program.listed().len(), FLAGS.len() - 1, "all but what is refused without a word for help");
    let parameters = program.parameters();
    assert!(parameters.iter().all(|row| row.name != "-p") && parameters.iter().any(|row| row.value == "way"));
}
