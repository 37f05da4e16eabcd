//! First lines about an interface, as `ifconfig -m` prints them, whatever system it is of.

use super::super::layout::Layout;
use linerate_text::wrapped;

/// Content of the first lines.
pub(super) struct Head {
    /// Name and flags.
    pub(super) first: String,
    pub(super) mtu: Option<u32>,
    /// A remark on all that follows.
    pub(super) note: Option<String>,
    /// Capabilities that are enabled, and those that there are: a number and names.
    pub(super) options: [Option<String>; 2],
    /// Addresses.
    pub(super) lines: Vec<String>,
    pub(super) media: Option<String>,
    pub(super) status: Option<String>,
    pub(super) supported: Vec<String>,
}

impl Head {
    pub(super) fn show(&self, out: &mut Layout) {
        let mtu = self.mtu.map(|mtu| format!(" mtu {mtu}")).unwrap_or_default();
        out.commas("", &format!("{}{mtu}", self.first));
        out.maybe("note", self.note.clone());
        for (name, words) in ["options", "capabilities"].iter().zip(&self.options) {
            if let Some(words) = words {
                out.commas("\t", &format!("{name}={words}"));
            }
        }
        self.lines.iter().for_each(|line| long(out, line));
        for (name, words) in [("media", &self.media), ("status", &self.status)] {
            if let Some(words) = words {
                long(out, &format!("{name}: {words}"));
            }
        }
        if !self.supported.is_empty() {
            out.line("\tsupported media:");
            self.supported.iter().for_each(|line| out.line(&format!("\t\t{line}")));
        }
    }
}

/// Adds a line, over several if it is too long.
fn long(out: &mut Layout, line: &str) {
    // A tab, and four columns from the second line on.
    for (at, part) in wrapped(line, 68).iter().enumerate() {
        let indent = if at == 0 { "\t" } else { "\t    " };
        out.line(&format!("{indent}{part}"));
    }
}
