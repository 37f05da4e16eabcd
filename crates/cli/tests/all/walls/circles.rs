//! Imports between the top-level modules of a crate, as found in their text, and the cycles among them.
//!
//! A module's folder is its top-level module: `a.rs` and all of `a/` are `a`. Paths that begin with `crate` or `super`
//! are followed, in `use` and elsewhere. The crate's root is no module: a name that it defines belongs to no module, a
//! re-exported name to the module that it comes from. Tests are left out: they may import any module. Limitations:
//! macros and types are not known, so a method is not followed to the module of its `impl`.

use super::words::words;
use std::collections::{BTreeMap, BTreeSet};

/// The files, by importing and imported module, that make each import.
type Edges = BTreeMap<(String, String), BTreeSet<String>>;

/// Imports and names found in one file.
#[derive(Default)]
struct Read {
    /// Imports: the first name behind the crate's root.
    heads: BTreeSet<String>,
    /// Modules in other files that are tests.
    tests: Vec<Vec<String>>,
    /// Names that the file defines or imports at its outermost level, and the first name of the imported path.
    names: BTreeMap<String, Option<String>>,
}

/// Cycles of a crate of these files, given by their path below `src` and their text: one text for each cycle.
pub(super) fn circles(files: &[(String, String)]) -> Vec<String> {
    let read: Vec<_> = files.iter().map(|(file, text)| (file, module_of(file), read(&module_of(file), text))).collect();
    let tests: Vec<_> = read.iter().flat_map(|(_, _, read)| &read.tests).collect();
    let is_test = |module: &[String]| {
        module.iter().any(|name| name == "tests") || tests.iter().any(|test| module.starts_with(test))
    };
    let tops: BTreeSet<&String> = read.iter().filter_map(|(_, module, _)| module.first()).collect();
    // Names that the root knows, and the module that each comes from.
    let roots = read.iter().filter(|(_, module, _)| module.is_empty());
    let mut homes: BTreeMap<&str, Option<&String>> =
        roots.flat_map(|(_, _, read)| &read.names).map(|(name, from)| (name.as_str(), from.as_ref())).collect();
    homes.extend(tops.iter().map(|top| (top.as_str(), Some(*top))));
    let mut edges = Edges::new();
    for (file, module, read) in read.iter().filter(|(_, module, _)| !is_test(module)) {
        let Some(from) = module.first() else { continue };
        for head in &read.heads {
            // A name that the root does not list comes by its `pub use module::*`.
            let home = homes.get(head.as_str()).or_else(|| homes.get("*"));
            let home = home.unwrap_or_else(|| panic!("{file}: crate::{head} is nothing that the root names"));
            if let Some(to) = home.filter(|to| *to != from && tops.contains(to)) {
                edges.entry((from.clone(), to.clone())).or_default().insert((*file).clone());
            }
        }
    }
    told(&edges)
}

/// Cycles among the edges, each with its modules and the files that make it.
fn told(edges: &Edges) -> Vec<String> {
    let all_from = |from| {
        let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
        while let Some(at) = next.pop() {
            next.extend(edges.keys().filter(|(a, b)| a == at && reached.insert(b)).map(|(_, b)| b));
        }
        reached
    };
    let reach: BTreeMap<&String, _> = edges.keys().map(|(from, _)| (from, all_from(from))).collect();
    let back = |a: &String, b: &String| reach[a].contains(b) && reach.get(b).is_some_and(|of_b| of_b.contains(a));
    let circle = |of: &String| reach.keys().copied().filter(|other| back(of, other)).collect::<Vec<_>>();
    let circles: BTreeSet<Vec<&String>> = reach.keys().map(|of| circle(of)).filter(|c| !c.is_empty()).collect();
    let tell = |circle: Vec<&String>| {
        let names: Vec<_> = circle.iter().map(|name| name.as_str()).collect();
        let mut text = names.join(", ");
        for ((from, to), files) in edges.iter().filter(|((a, b), _)| circle.contains(&a) && circle.contains(&b)) {
            let files: Vec<_> = files.iter().map(String::as_str).collect();
            text += &format!("\n    {from} -> {to} ({})", files.join(", "));
        }
        text
    };
    circles.into_iter().map(tell).collect()
}

/// Module of a file.
fn module_of(file: &str) -> Vec<String> {
    let mut parts: Vec<_> = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    let last = parts.last().map(String::as_str);
    if last == Some("mod") || (parts.len() == 1 && matches!(last, Some("lib" | "main"))) {
        parts.pop();
    }
    parts
}

fn read(module: &[String], text: &str) -> Read {
    let words = words(text);
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let (mut read, mut inside, mut at, mut depth) = (Read::default(), module.to_vec(), 0, 0);
    // Depths at which modules inside this file end.
    let mut ends = Vec::new();
    while at < words.len() {
        let outermost = depth == 0;
        match word(at) {
            "#" if word(at + 1) == "[" => {
                let end = closed(&words, at + 1);
                at = if is_for_tests(&words[at + 1..end]) {
                    let (end, file) = item(&words, end);
                    read.tests.extend(file.map(|name| [&inside[..], &[name]].concat()));
                    end
                } else {
                    end
                };
                continue;
            }
            // Not a path but a visibility: `pub(super)`, `pub(in crate::a)`.
            "pub" if word(at + 1) == "(" => {
                at = closed(&words, at + 1);
                continue;
            }
            // `+ use<'_>` belongs to a type.
            "use" if word(at + 1) != "<" => {
                let mut paths = Vec::new();
                at = branch(&words, at + 1, &mut Vec::new(), &mut paths);
                paths.iter().for_each(|path| read.heads.extend(path.head(&inside)));
                if outermost {
                    read.names.extend(
                        paths.into_iter().map(|path| (path.name, path.parts.into_iter().find(|part| is_name(part)))),
                    );
                }
                continue;
            }
            "crate" | "super" | "self" if word(at + 1) == "::" && word(at.wrapping_sub(1)) != "::" => {
                let mut paths = Vec::new();
                branch(&words, at, &mut Vec::new(), &mut paths);
                paths.iter().for_each(|path| read.heads.extend(path.head(&inside)));
            }
            "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static" | "mod" if outermost => {
                read.names.insert(word(at + 1).to_owned(), None);
            }
            "macro_rules" if outermost => {
                read.names.insert(word(at + 2).to_owned(), None);
            }
            _ => {}
        }
        match word(at) {
            "mod" if word(at + 2) == "{" => {
                inside.push(word(at + 1).to_owned());
                ends.push(depth);
            }
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if ends.last() == Some(&depth) {
                    ends.pop();
                    inside.pop();
                }
            }
            _ => {}
        }
        at += 1;
    }
    read
}

/// True for a name; false for the words that lead to another module.
fn is_name(part: &str) -> bool {
    !matches!(part, "crate" | "super" | "self")
}

/// A path, and the name that it gets where it is imported.
struct Path {
    parts: Vec<String>,
    name: String,
}

impl Path {
    /// First name behind the crate's root, if the path goes through the root.
    fn head(&self, inside: &[String]) -> Option<String> {
        if self.parts.first().is_none_or(|part| is_name(part)) {
            return None;
        }
        let mut base = inside.to_vec();
        for part in &self.parts {
            match part.as_str() {
                "crate" => base.clear(),
                "super" => drop(base.pop()),
                "self" => {}
                name if base.is_empty() => return Some(name.to_owned()),
                name => base.push(name.to_owned()),
            }
        }
        None
    }
}

/// Adds the paths of a tree; returns its end.
fn branch(words: &[String], mut at: usize, before: &mut Vec<String>, found: &mut Vec<Path>) -> usize {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let had = before.len();
    loop {
        if word(at) == "{" {
            let end = closed(words, at);
            at += 1;
            while at + 1 < end {
                at = branch(words, at, before, found);
                at += usize::from(word(at) == ",");
            }
            before.truncate(had);
            return end;
        }
        before.push(word(at).to_owned());
        if word(at + 1) != "::" || word(at + 2) == "<" {
            break;
        }
        at += 2;
    }
    // `self` at the end of a tree is the name before it.
    let named = before.iter().rfind(|part| *part != "self").cloned().unwrap_or_default();
    let (name, end) = if word(at + 1) == "as" { (word(at + 2).to_owned(), at + 3) } else { (named, at + 1) };
    found.push(Path { parts: before.clone(), name });
    before.truncate(had);
    end
}

/// True if an attribute limits its item to tests: `cfg(test)`, `cfg(all(test, …))`.
fn is_for_tests(attribute: &[String]) -> bool {
    let words: Vec<_> = attribute.iter().map(String::as_str).collect();
    words.starts_with(&["[", "cfg", "(", "test", ")"]) || words.starts_with(&["[", "cfg", "(", "all", "(", "test", ","])
}

/// Position behind the bracket that closes the one at `at`.
fn closed(words: &[String], at: usize) -> usize {
    let mut depth = 0;
    for (i, word) in words.iter().enumerate().skip(at) {
        match word.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    words.len()
}

/// End of the item, statement or part of a list that begins at `at`; and its name, if it is a module in another file.
fn item(words: &[String], mut at: usize) -> (usize, Option<String>) {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    while word(at) == "#" {
        at = closed(words, at + 1);
    }
    if word(at) == "pub" {
        at = if word(at + 1) == "(" { closed(words, at + 1) } else { at + 1 };
    }
    let (first, second) = (word(at), word(at + 1));
    let file = (first == "mod" && word(at + 2) == ";").then(|| second.to_owned());
    let no_block = matches!(first, "use" | "static" | "type" | "let") || (first == "const" && second != "fn");
    let blocks =
        ["fn", "mod", "struct", "enum", "union", "trait", "impl", "const", "unsafe", "async", "extern", "macro_rules"];
    let in_list = !no_block && !blocks.contains(&first);
    while at < words.len() {
        at = match word(at) {
            ";" => return (at + 1, file),
            "," if in_list => return (at + 1, file),
            // End of the enclosing block.
            "}" | ")" | "]" => return (at, file),
            "{" if !no_block => return (closed(words, at), file),
            "(" | "[" | "{" => closed(words, at),
            _ => at + 1,
        };
    }
    (at, file)
}

#[cfg(test)]
mod tests {
    use super::circles;

    fn of(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(file, text)| ((*file).to_owned(), (*text).to_owned())).collect();
        circles(&files)
    }

    const ROOT: (&str, &str) = (
        "lib.rs",
        "mod a; mod b; mod c; #[cfg(test)] mod testing;
         pub use a::{deep::{Deep, Deeper as Deepest}, *}; pub struct Own; pub use std::io;",
    );

    #[test]
    fn imports_that_run_one_way_make_no_circle() {
        let files = [
            ROOT,
            ("a.rs", "mod deep; pub(in crate::c) fn f() {} impl Iterator for A { fn g() -> impl B + use<> {} }"),
            ("a/deep.rs", "use super::f; use crate::{Own, io}; mod inner { use super::super::f; }"),
            ("b/mod.rs", "use crate::{a::{self, deep::{Deep}}, Deepest}; fn f() { super::a::f(); \"crate::c\"; }"),
            ("c.rs", "use super::{a, b}; fn f() -> crate::b::B { crate::Deep::new(); crate::Globbed }"),
            ("b/tests.rs", "use crate::c;"),
            ("b/tests/more.rs", "use crate::c;"),
            ("testing.rs", "use crate::a;"),
        ];
        assert_eq!(of(&files), [] as [String; 0]);
        // Items that only tests have.
        let behind = [
            "mod tests { use crate::c; }",
            "use crate::c::{d, e};",
            "pub(crate) fn f<T, U>(t: T, u: [u8; 2]) { crate::c::g() }",
            "#[derive(Debug)] const C: [u8; 2] = { crate::c::C };",
        ];
        for item in behind {
            for test in ["#[cfg(test)]", "#[cfg(all(test, not(loom)))]"] {
                let text = format!("fn before() {{}} {test} {item} fn after() {{}}");
                assert_eq!(of(&[ROOT, ("a.rs", &text), ("c.rs", "use crate::a;")]), [] as [String; 0], "{text}");
                let text = format!("fn before() {{}} {item} fn after() {{}}");
                assert_eq!(of(&[ROOT, ("a.rs", &text), ("c.rs", "use crate::a;")]).len(), 1, "{text}");
                let text = format!("{test} {item} fn after() {{ crate::c::after() }}");
                assert_eq!(of(&[ROOT, ("a.rs", &text), ("c.rs", "use crate::a;")]).len(), 1, "{text}");
            }
        }
    }

    #[test]
    fn a_circle_is_told_with_its_modules_and_files() {
        let files = [
            ROOT,
            ("a.rs", "mod deep;"),
            ("a/deep.rs", "mod inner { use super::{super::{super::b::{self, B}}}; }"),
            ("b.rs", "fn f() -> super::c::C {}"),
            ("c/mod.rs", "mod d; use crate::{b::{B}};"),
            ("c/d.rs", "use std::fmt; pub(crate) use {super::super::a::A};"),
        ];
        let circle = "a, b, c\n    a -> b (a/deep.rs)\n    b -> c (b.rs)\n    c -> a (c/d.rs)\n    c -> b (c/mod.rs)";
        assert_eq!(of(&files), [circle]);
    }

    /// Tries each way to write the import that closes the cycle.
    #[test]
    fn no_way_to_write_an_import_hides_it() {
        for import in [
            "use crate::b;",
            "use crate::{Own, b as other};",
            "use crate::{c::{C, D}, b::{self}};",
            "pub(super) use super::b::*;",
            "use {std::io, super::b::B};",
            "use self::super::b::B;",
            "fn f(x: &crate::b::B) {}",
            "fn f() { let x = 'c'; super::b::f::<u8>() }",
            "fn f<'a>(x: &'a u8) { g(\"//\", crate::b::f) }",
            "const C: u8 = <crate::b::B as Clone>::C;",
            "macro_rules! m { () => { $crate::b::f() } }",
            "#[cfg(not(test))] use crate::b;",
            "#[cfg(any(test, fuzzing))] use crate::b;",
            "#[cfg(test)] use crate::c; use crate::b;",
            "struct S { #[cfg(test)] c: crate::c::C, b: crate::b::B }",
            "struct S { #[cfg(test)] pub(crate) c: crate::c::C } use crate::b;",
        ] {
            for back in ["use crate::a;", "use crate::Deep;", "use super::Deepest;", "use crate::Globbed;"] {
                let told = of(&[ROOT, ("a.rs", import), ("b.rs", back)]);
                assert_eq!(told, ["a, b\n    a -> b (a.rs)\n    b -> a (b.rs)"], "{import} {back}");
            }
        }
    }
}
