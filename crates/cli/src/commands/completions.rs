//! `linerate completions`: scripts for shells. Commands and options are in the script; what is of the machine at the moment, it asks
//! the program for ([`candidates`]).

mod candidates;

use super::root::root;
use super::{Command, Reader, commands, parsed};
use crate::print::print;
use clap::{CommandFactory, Parser};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

pub(super) const COMMAND: Command = Command::by_clap("completions", Arguments::command, |matches, _| {
    let arguments: Arguments = parsed(matches)?;
    print(&match arguments.shell {
        Some(shell) => script(shell),
        None => candidates::candidates(&arguments.words).iter().map(|word| format!("{word}\n")).collect(),
    });
    Ok(ExitCode::SUCCESS)
});

/// Print a completion script for a shell: of commands, options, ports, interfaces, settings, switches and runs.
///
/// It completes the names of the programs that links to linerate stand in for, such as iperf3 and pkt-gen, too.
#[derive(Parser)]
#[command(after_help = EXAMPLES)]
struct Arguments {
    /// The shell.
    #[arg(value_name = "SHELL", required_unless_present = "words")]
    shell: Option<Shell>,
    /// Print what may stand in place of the last of these words, one a line: scripts ask for it.
    #[arg(value_name = "WORD", last = true, conflicts_with = "shell")]
    words: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  linerate completions bash >~/.local/share/bash-completion/completions/linerate
  linerate completions zsh >~/.zfunc/_linerate
  linerate completions fish >~/.config/fish/completions/linerate.fish

bash loads such a file by the program's name; for links, link iperf3 and the others to it.";

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    generate(shell, &mut root(), "linerate", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    // The generated function completes what the command line has by itself.
    let plain = |script: String| script.replacen("_linerate() {", "_linerate_plain() {", 1);
    let names: String = links().map(|(program, _)| format!(" {program}")).collect();
    let cases =
        |row: fn(&str, &str) -> String| links().map(|(program, command)| row(program, command)).collect::<String>();
    match shell {
        Shell::Bash => {
            let rows = cases(|program, command| format!("        {program}) command={command} ;;\n"));
            let script = plain(script).replace("-o default linerate\n", &format!("-o default linerate{names}\n"));
            BASH.replace("ROWS\n", &rows) + &script
        }
        Shell::Zsh => {
            let row = |program: &str, command: &str| {
                format!("        {program}) words=(linerate {command} \"${{(@)words[2,-1]}}\"); (( CURRENT++ )) ;;\n")
            };
            let script = plain(script).replacen("#compdef linerate\n", &format!("#compdef linerate{names}\n"), 1);
            let script =
                script.replace("    compdef _linerate linerate\n", &format!("    compdef _linerate linerate{names}\n"));
            let at = script.rfind("if [ \"$funcstack[1]\"").unwrap_or(script.len());
            format!("{}{}{}", &script[..at], ZSH.replace("ROWS\n", &cases(row)), &script[at..])
        }
        Shell::Fish => {
            let row = |program: &str, command: &str| format!("complete -c {program} -w 'linerate {command}'\n");
            script + FISH + &cases(row)
        }
        _ => script,
    }
}

/// Programs that links to linerate stand in for, each with its command.
fn links() -> impl Iterator<Item = (&'static str, &'static str)> {
    commands().flat_map(|command| {
        let (own, others) = match &command.reader {
            Reader::Clap { .. } => (None, &[][..]),
            Reader::Itself { programs: [], .. } => (Some(command.name), &[][..]),
            Reader::Itself { programs, .. } => (None, *programs),
        };
        own.into_iter().chain(others.iter().copied()).map(move |program| (program, command.name))
    })
}

/// bash breaks words at `:` and `=`: the program is asked with those that are divided by blanks, and what is before the last break
/// is on the line already.
const BASH: &str = "\
_linerate() {
    local line=\"${COMP_LINE:0:COMP_POINT}\" command=\"\" whole word cut
    local -a words more
    read -ra words <<<\"$line\"
    [[ $line == *[[:blank:]] ]] && words+=(\"\")
    mapfile -t more < <(linerate completions -- \"${words[@]}\" 2>/dev/null)
    whole=\"${words[${#words[@]}-1]}\"
    cut=\"${whole%\"$2\"}\"
    case \"${1##*/}\" in
ROWS
        *) command=\"\" ;;
    esac
    if [[ -n $command ]]; then
        COMP_WORDS=(linerate \"$command\" \"${COMP_WORDS[@]:1}\")
        (( COMP_CWORD++ ))
    else
        COMP_WORDS[0]=linerate
    fi
    _linerate_plain linerate \"$2\" \"${COMP_WORDS[COMP_CWORD-1]}\"
    local -a plain=(\"${COMPREPLY[@]}\")
    COMPREPLY=()
    for word in \"${plain[@]}\"; do
        # Names of operands are no words.
        [[ $word == [\\<\\[]* ]] || COMPREPLY+=(\"$word\")
    done
    for word in \"${more[@]}\"; do
        COMPREPLY+=(\"${word#\"$cut\"}\")
    done
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]]; then
        compopt -o nospace 2>/dev/null
    fi
}

";

const ZSH: &str = "\
_linerate() {
    local -a more
    more=(\"${(@f)$(linerate completions -- \"${(@)words[1,CURRENT]}\" 2>/dev/null)}\")
    more=(\"${(@)more:#}\")
    (( $#more )) && compadd -S '' -- \"${(@)more}\"
    case \"${words[1]:t}\" in
ROWS
    esac
    _linerate_plain \"$@\"
}

";

const FISH: &str = "\
complete -c linerate -a '(linerate completions -- (commandline -opc) (commandline -ct) 2>/dev/null)'
";
