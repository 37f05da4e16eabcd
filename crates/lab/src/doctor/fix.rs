//! Mending: the changes that findings have are made one by one, each read back, after the undo file is on the disk.

use super::Examination;
use super::finding::{Finding, Risk, Severity};
use super::knob::{Knob, same};
use super::rules::RULES;
use super::undo::{self, Was};
use linerate_host::tunables::{Target, Value, group_of_name};
use linerate_rt::Stop;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mend {
    /// Place of the value.
    #[serde(flatten)]
    pub knob: Knob,
    /// Value that it is to have.
    pub to: Value,
}

/// Changes of one finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub rule: &'static str,
    /// The interface, or `host`.
    pub subject: String,
    /// The fault, in a line.
    pub what: String,
    pub severity: Severity,
    pub risk: Risk,
    pub mends: Vec<Mend>,
}

/// Result of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Did {
    pub rule: &'static str,
    /// Place of the value.
    #[serde(flatten)]
    pub knob: Knob,
    /// Value before.
    pub before: Value,
    pub to: Value,
    /// Reason for which it is not so.
    pub refused: Option<String>,
}

/// Changes that mend the findings: those of the rules that are named, or those of warnings and errors up to a class, with `notes`
/// those of notes, too. What others need comes first.
#[must_use]
pub fn plan(all: &Examination, only: &[String], most: Risk, notes: bool) -> Vec<Step> {
    let most = most.min(Risk::Traffic);
    let wanted = |finding: &Finding| match only {
        [] => finding.risk <= most && (notes || finding.severity > Severity::Note),
        only => only.iter().any(|one| *one == finding.rule),
    };
    let mut steps: Vec<Step> = Vec::new();
    for finding in all.findings.iter().filter(|finding| !finding.fix.is_empty() && wanted(finding)) {
        let known = |mend: &Mend| steps.iter().any(|step| step.mends.iter().any(|other| other.knob == mend.knob));
        // Two rules may want the same.
        let mends: Vec<Mend> = finding.fix.iter().filter(|mend| !known(mend)).cloned().collect();
        let rule = RULES.iter().map(|rule| rule.name).find(|name| *name == finding.rule);
        if let Some(rule) = rule.filter(|_| !mends.is_empty()) {
            let Finding { subject, what, severity, risk, .. } = finding.clone();
            steps.push(Step { rule, subject, what, severity, risk, mends });
        }
    }
    steps.sort_by_key(|step| match step.mends.first().map(|mend| &mend.knob) {
        Some(Knob::Setting { interface, name }) => (interface.clone(), Some(group_of_name(name))),
        _ => (String::new(), None),
    });
    steps
}

/// Rules with changes that no step makes: those of warnings and errors that interrupt traffic, and those that are to be named.
#[must_use]
pub fn left_out(all: &Examination, steps: &[Step]) -> [Vec<String>; 2] {
    let is_made = |mend: &Mend| steps.iter().any(|step| step.mends.iter().any(|made| made.knob == mend.knob));
    let is_left = |finding: &&Finding| !finding.fix.iter().all(is_made);
    let mut names = [BTreeSet::new(), BTreeSet::new()];
    for finding in all.findings.iter().filter(is_left) {
        let is_named = finding.severity == Severity::Note || finding.risk == Risk::Security;
        names[usize::from(is_named)].insert(finding.rule.to_string());
    }
    names.map(|names| names.into_iter().collect())
}

/// Values of some changes as they are, and as they are to be; and those that cannot be read, which are not changed.
pub(super) fn before(target: &mut dyn Target, steps: &[Step]) -> (Vec<Was>, Vec<Did>) {
    let (mut all, mut unable) = (Vec::new(), Vec::new());
    for (step, mend) in steps.iter().flat_map(|step| step.mends.iter().map(move |mend| (step, mend))) {
        let Mend { knob, to } = mend.clone();
        match knob.read(target) {
            Ok(before) if same(&before, &to) => {}
            Ok(before) => all.push(Was { rule: step.rule.to_owned(), before, after: to, knob }),
            Err(why) => {
                let before = Value::Text("not known".to_owned());
                unable.push(Did { rule: step.rule, knob, before, to, refused: Some(why) });
            }
        }
    }
    (all, unable)
}

/// Makes changes, after an undo file is written and `ready` has heard of it. A stop ends it between two of them.
///
/// # Errors
/// The undo file cannot be written, or `ready` says so; then nothing is changed.
pub fn fix(
    target: &mut dyn Target,
    steps: &[Step],
    file: &Path,
    ready: impl FnOnce() -> Result<(), String>,
    stop: &Stop,
) -> Result<Vec<Did>, String> {
    let (all, mut done) = before(target, steps);
    if all.is_empty() {
        return Ok(done);
    }
    undo::write(file, &all)?;
    ready().inspect_err(|_| drop(std::fs::remove_file(file)))?;
    for was in all {
        if stop.asked() {
            break;
        }
        let refused = was.knob.set(target, &was.after).err();
        let rule = steps.iter().map(|step| step.rule).find(|rule| *rule == was.rule).unwrap_or_default();
        done.push(Did { rule, knob: was.knob, before: was.before, to: was.after, refused });
    }
    Ok(done)
}
