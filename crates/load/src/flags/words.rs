//! Words of a command line, and the position up to which they are read.

/// Words from which flags take their values.
#[derive(Default)]
pub(crate) struct Words {
    words: Vec<String>,
    at: usize,
    /// Rest of the flag's own word.
    pub(super) own: Option<String>,
    /// True if that rest is letters of further flags, unless it is taken as a value.
    pub(super) letters: bool,
    /// Name of the flag that was found.
    pub(super) name: String,
    /// Syntax of that flag.
    pub(super) form: String,
    /// Values taken since.
    pub(super) taken: Vec<String>,
}

impl Words {
    /// Words behind a program's name; `help` alone requests help in any program.
    pub(crate) fn new(arguments: &[String]) -> Self {
        let words = if arguments == ["help"] { vec!["-h".to_owned()] } else { arguments.to_vec() };
        Self { words, ..Self::default() }
    }

    /// Values that a flag took, to be taken again.
    pub(super) fn again(values: &[String]) -> Self {
        let mut words = values.iter().cloned();
        Self { own: words.next(), words: words.collect(), ..Self::default() }
    }

    pub(super) fn next(&mut self) -> Option<String> {
        let word = self.words.get(self.at).cloned();
        self.at += usize::from(word.is_some());
        word
    }

    /// Takes a value, which must be present.
    pub(crate) fn value(&mut self) -> Result<String, String> {
        let value = self.own.take().or_else(|| self.next()).ok_or_else(|| format!("no value; give {}", self.form))?;
        self.taken.push(value.clone());
        Ok(value)
    }

    /// Takes a value if it is in the flag's own word, or begins with a digit; otherwise it is empty.
    pub(super) fn perhaps(&mut self) -> String {
        let own = self.own.is_some();
        self.take_if(|word| own || word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or_default()
    }

    /// Takes the next value if `wanted` accepts it.
    pub(crate) fn take_if(&mut self, wanted: impl FnOnce(&str) -> bool) -> Option<String> {
        let next = self.own.as_ref().or_else(|| self.words.get(self.at))?;
        if wanted(next) { self.value().ok() } else { None }
    }

    /// Inserts words before the remaining ones.
    pub(crate) fn insert(&mut self, more: Vec<String>) {
        self.words.splice(self.at..self.at, more);
    }
}
