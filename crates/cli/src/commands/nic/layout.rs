//! Lines of 80 columns: groups of rows with a label and a text that is wrapped behind it.

use linerate_text::{plain, wrapped};

/// Columns of a line.
const WIDTH: usize = 80;
/// Columns of a tab and the label.
const LABEL: usize = 27;

/// Text in groups.
#[derive(Default)]
pub(super) struct Layout {
    text: String,
    /// Title of a group that has no row yet.
    title: Option<&'static str>,
}

impl Layout {
    /// Begins a group; it is shown if a row follows.
    pub(super) fn group(&mut self, title: &'static str) {
        self.title = Some(title);
    }

    pub(super) fn row(&mut self, label: &str, value: &str) {
        if let Some(title) = self.title.take() {
            self.text += &format!("{title}\n");
        }
        let (label, value) = (plain(label), plain(value));
        let mut lines = wrapped(&value, WIDTH - LABEL).into_iter();
        let room = LABEL - 8;
        let first = lines.next().unwrap_or_default();
        if label.chars().count() < room {
            self.text += format!("\t{label:room$}{first}").trim_end();
        } else {
            self.text += format!("\t{label}\n\t{:room$}{first}", "").trim_end();
        }
        self.text += "\n";
        for line in lines {
            self.text += &format!("\t{:room$}{line}\n", "");
        }
    }

    /// Adds a row of a long name and a few words.
    pub(super) fn wide(&mut self, label: &str, value: &str) {
        if let Some(title) = self.title.take() {
            self.text += &format!("{title}\n");
        }
        self.text += &format!("\t{:32} {}\n", plain(label), plain(value));
    }

    /// Adds a row if there is something to say.
    pub(super) fn maybe(&mut self, label: &str, value: Option<String>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.row(label, &value);
        }
    }

    /// Adds words with commas between, over several lines if need be; `first` begins the first of them.
    pub(super) fn commas(&mut self, first: &str, text: &str) {
        let mut line = first.to_owned();
        for (i, word) in text.split(',').enumerate() {
            if i > 0 {
                line.push(',');
                if line.len() + word.len() > 70 {
                    self.line(&line);
                    line = String::from("\t    ");
                }
            }
            line += word;
        }
        self.line(&line);
    }

    /// Adds a line as it is.
    pub(super) fn line(&mut self, line: &str) {
        self.text += &format!("{}\n", line.split('\t').map(plain).collect::<Vec<_>>().join("\t"));
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// A text that is cut to its column, with a mark where it was.
pub(super) fn cut(text: &str, width: usize) -> String {
    // Names and notes of interfaces may have control characters.
    let text = plain(text);
    if text.chars().count() <= width {
        return text;
    }
    text.chars().take(width.saturating_sub(1)).chain(['~']).collect()
}

/// Commas between thousands are for readers; here numbers stay as they are, and rates get a unit.
pub(super) fn rate(number: f64) -> String {
    let (scaled, unit) = match number {
        n if n < 10_000.0 => (n, ""),
        n if n < 10_000_000.0 => (n / 1e3, " k"),
        n if n < 10_000_000_000.0 => (n / 1e6, " M"),
        n => (n / 1e9, " G"),
    };
    let digits = if unit.is_empty() && scaled.fract() == 0.0 { 0 } else { 1 };
    format!("{scaled:.digits$}{unit}/s")
}

/// Mb/s, as one writes them.
pub(super) fn speed(mbps: u32) -> String {
    match mbps {
        n if n >= 1000 && n % 1000 == 0 => format!("{}G", n / 1000),
        n if n >= 1000 && n % 100 == 0 => format!("{}.{}G", n / 1000, n % 1000 / 100),
        n => format!("{n}M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_80_columns() {
        let mut layout = Layout::default();
        layout.group("empty");
        layout.group("words");
        layout.row("key", &"0a:1b ".repeat(40));
        layout.row("a-label-that-is-too-long-for-its-column", "x");
        layout.row("path", &"/sys/devices/pci0000:5d".repeat(9));
        layout.wide("a\u{1b}b", "on");
        let text = layout.finish();
        assert!(text.contains("a\u{fffd}b") && !text.contains('\u{1b}'), "{text}");
        assert!(text.starts_with("words\n\tkey") && !text.contains("empty"), "{text}");
        assert!(text.lines().all(|line| line.replace('\t', "        ").len() <= WIDTH), "{text}");
        assert_eq!((cut("virtio_net", 8), cut("veth", 8)), ("virtio_~".to_owned(), "veth".to_owned()));
        assert_eq!((speed(2500), speed(100_000), speed(10)), ("2.5G".to_owned(), "100G".to_owned(), "10M".to_owned()));
        assert_eq!(
            (rate(3.0), rate(2.5), rate(12_345.0)),
            ("3/s".to_owned(), "2.5/s".to_owned(), "12.3 k/s".to_owned())
        );
    }
}
