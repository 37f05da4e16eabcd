//! The text of `-h`, and of `-V`.

use super::{Does, Program};
use linerate_text::wrapped;
use std::fmt::Write as _;

impl<S, A> Program<S, A> {
    /// Help up to the last flag. `between` gives the text between a flag's names and its value, by its scope.
    pub(crate) fn help(&self, between: impl Fn(&A) -> &'static str) -> String {
        let mut text = format!("Usage: {} {}\n\n", self.name, self.usage);
        for flag in self.shown() {
            let value = match (flag.form(), &flag.does) {
                ("", _) => String::new(),
                (form, Does::Maybe(_)) => format!(" [{form}]"),
                (form, _) => format!(" {form}"),
            };
            let names: Vec<_> = flag.names().collect();
            let _ = writeln!(text, "  {}{}{value}", names.join(", "), between(&flag.scope));
            for line in wrapped(flag.about, self.width) {
                let _ = writeln!(text, "          {line}");
            }
        }
        text
    }

    /// Version text, with the name of the program that it replaces.
    pub(crate) fn version(&self) -> String {
        format!("{} (linerate {})\n", self.name, env!("CARGO_PKG_VERSION"))
    }
}
