//! `linerate pkt-gen`, and `pkt-gen`.

use super::kept::{Db, ready};
use super::shared::{arguments, confine, stop_at_signals};
use super::{Command, Reader};
use crate::print::{self, print};
use crate::trouble::Trouble;
use linerate_lab::environment;
use linerate_load::pktgen::{self, Config, run_after};
use linerate_load::validity::Validity;
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command {
    name: "pkt-gen",
    reader: Reader::Itself {
        about: "netmap's packet generator and receiver, flag for flag, with every frame accounted for",
        programs: &[],
        help: pktgen::help,
        flags: || arguments(pktgen::listed()),
        run: pkt_gen,
    },
};

fn pkt_gen(arguments: &[String]) -> Result<ExitCode, Trouble> {
    let config = match Config::parse(arguments).map_err(Trouble::usage)? {
        pktgen::Command::Print(text) => {
            print(&text);
            return Ok(ExitCode::SUCCESS);
        }
        pktgen::Command::Run(config) => *config,
    };
    let stop = stop_at_signals()?;
    let (json, ndjson, keep) = (config.json, config.ndjson, config.keep);
    if keep {
        ready(&Db::default())?;
    }
    let output = print::output(json || ndjson, &stop);
    let command = std::iter::once("pkt-gen".to_owned()).chain(arguments.iter().cloned()).collect();
    let validity = Validity::begin();
    let mut result = run_after(config, command, &stop, &output, || confine(&[]))?.result;
    let told = result.tests.first().map_or(0, |test| test.warnings.len());
    validity.tell(&mut result.tests);
    for line in result.tests.iter().flat_map(|test| &test.warnings[told..]) {
        output.remark("main", 2953, &format!("note: {line}"));
    }
    if json || ndjson || keep {
        result.environment = environment::read(&[]);
    }
    if json || ndjson {
        if ndjson {
            let event = serde_json::json!({"event": "result", "result": result});
            output.document(&event.to_string());
        } else {
            output.document(&result.to_json());
        }
    }
    if keep {
        Db::default().keep(&result)?;
    }
    Ok(ExitCode::from(result.exit_code()))
}
