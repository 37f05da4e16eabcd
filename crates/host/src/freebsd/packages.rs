//! `pkg info` and the older `pkg_info`: a line for each package, `NAME-VERSION   COMMENT`.

use super::lines;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstalledPackage {
    pub name: String,
    pub version: String,
    /// Description, in a line.
    pub comment: String,
}

impl InstalledPackage {
    /// Parses the text, in its order; lines that name no package with a version are left out.
    #[must_use]
    pub fn parse(text: &str) -> Vec<Self> {
        let row = |line: &str| {
            let (package, comment) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let (name, version) = package.rsplit_once('-')?;
            let whole = !name.is_empty() && version.starts_with(|c: char| c.is_ascii_digit());
            whole.then(|| Self {
                name: name.to_owned(),
                version: version.to_owned(),
                comment: comment.trim().to_owned(),
            })
        };
        lines(text).filter_map(row).collect()
    }

    /// True if the package is about a driver: name or comment has it as a word (`oce`, `if_oce`, `oce-kmod`).
    #[must_use]
    pub fn is_about(&self, driver: &str) -> bool {
        let mut words =
            self.name.split(['-', '_', '.']).chain(self.comment.split(|c: char| !c.is_ascii_alphanumeric()));
        !driver.is_empty() && words.any(|word| word.eq_ignore_ascii_case(driver))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_a_driver_are_told_from_those_that_only_have_its_letters() {
        let all = InstalledPackage::parse(
            "oce-4.0.140.0       Emulex OneConnect driver\nprocess-viewer-1.2  Lists processes\nif_oce-kmod-4.1,1\n\
             netperf-2.5.0       Network performance\nno package\nemulex-5.0          Tools for OCE adapters\n-1  x\n",
        );
        let about: Vec<_> = all.iter().filter(|one| one.is_about("oce")).map(|one| one.name.as_str()).collect();
        assert_eq!(about, ["oce", "if_oce-kmod", "emulex"]);
        assert_eq!((all.len(), all[0].version.as_str(), all[2].comment.as_str()), (5, "4.0.140.0", ""));
    }
}
