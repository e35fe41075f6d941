//! Files and their imports, compiled in order, each file once.
//! Never leaves a file out in silence, and never picks between two that clash.

use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
};

use prost::Message;
use prost_reflect::{DescriptorError, DescriptorPool, prost_types::FileDescriptorProto as Parsed};

use crate::schema::{Error, descriptor::FileDescriptorProto};

use super::{
    Sources, edition, graph_options, place,
    roots::{self, Entry},
    text::{Text, bundled},
};

/// Deepest chain of imports.
const MAX_CHAIN: usize = 500;

/// How a file that has been looked at stands.
enum State {
    /// It is compiled, under this name (another where the same file came by two names).
    Done(String),
    /// It does not compile, which has been said.
    Failed,
}

struct Graph<'a> {
    sources: &'a Sources,
    roots: Vec<PathBuf>,
    pool: DescriptorPool,
    states: HashMap<String, State>,
    texts: HashMap<String, Text>,
    /// Real path, and text, → the name under which it was compiled first.
    known: HashMap<Identity, String>,
    /// Full name → file and descriptor path of its definition.
    defined: HashMap<String, (String, Vec<i32>)>,
    parsed: HashMap<String, Parsed>,
    /// The editions of files that have one.
    editions: HashMap<String, i32>,
    stand_ins: HashSet<String>,
    warnings: &'a mut Vec<Error>,
}

#[derive(PartialEq, Eq, Hash)]
enum Identity {
    Path(PathBuf),
    Text(String),
}

/// Why a file cannot be used.
enum Fault {
    /// As the error says.
    Error(Error),
    /// As was said before.
    Known,
    /// Two files clash: an error whoever found them.
    Clash(Error),
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// Compiles what the operator gives, imports included.
pub(super) fn compile(
    sources: &Sources,
    warnings: &mut Vec<Error>,
) -> Result<Vec<FileDescriptorProto>, Error> {
    let mut roots = sources.roots.clone();
    let entries = if sources.protos.is_empty() {
        roots::discover(&roots)?
    } else {
        roots::named(&sources.protos, &mut roots)?
    };
    let mut graph = Graph {
        sources,
        roots,
        pool: DescriptorPool::new(),
        states: HashMap::new(),
        texts: HashMap::new(),
        known: HashMap::new(),
        defined: HashMap::new(),
        parsed: HashMap::new(),
        editions: HashMap::new(),
        stand_ins: HashSet::new(),
        warnings,
    };
    let mut first = None;
    let mut whole = 0;
    for entry in &entries {
        match graph.visit(&entry.name, &mut Vec::new()) {
            Ok(_) => whole += 1,
            Err(fault) => graph.left_out(entry, fault, &mut first)?,
        }
    }
    // Leaving out everything that there is would hide the reason from who asked for it.
    if let Some(index) = first
        && whole == 0
        && index < graph.warnings.len()
    {
        return Err(graph.warnings.swap_remove(index));
    }
    graph.finish()
}

impl Graph<'_> {
    fn left_out(&mut self, entry: &Entry, fault: Fault, first: &mut Option<usize>) -> Result<(), Error> {
        match fault {
            Fault::Clash(error) => Err(error),
            Fault::Error(error) if entry.named => Err(error),
            Fault::Error(error) => {
                first.get_or_insert(self.warnings.len());
                let about_other = !error.file.ends_with(&entry.name);
                self.warnings.push(error);
                if about_other {
                    let text = "is left out: a file that it imports does not compile";
                    self.warnings.push(Error::new(&entry.name, text));
                }
                Ok(())
            }
            Fault::Known if entry.named => {
                Err(Error::new(&entry.name, "imports a file that does not compile"))
            }
            Fault::Known => Ok(()),
        }
    }

    /// Compiles a file after its imports; gives the name that it is known by.
    fn visit(&mut self, name: &str, chain: &mut Vec<String>) -> Result<String, Fault> {
        match self.states.get(name) {
            Some(State::Done(known)) => return Ok(known.clone()),
            Some(State::Failed) => return Err(Fault::Known),
            None => {}
        }
        let result = self.compile(name, chain);
        let state = match &result {
            Ok(known) => State::Done(known.clone()),
            Err(_) => State::Failed,
        };
        self.states.insert(name.to_owned(), state);
        result
    }

    fn compile(&mut self, name: &str, chain: &mut Vec<String>) -> Result<String, Fault> {
        let (text, (mut parsed, edition)) = match Text::read(name, &self.roots)? {
            Some(text) => {
                if let Some(known) = self.same_as(&text) {
                    return Ok(known);
                }
                let parsed = text.parse()?;
                (Some(text), parsed)
            }
            None => match bundled(name) {
                Some(parsed) => (None, (parsed, None)),
                None => return Err(Error::new(name, "is in none of the roots").into()),
            },
        };
        chain.push(name.to_owned());
        let mut dependency: Vec<String> = Vec::new();
        for (i, import) in parsed.dependency.iter().enumerate() {
            let known = self.import(import, i, text.as_ref(), &parsed, chain)?;
            // The same file by two names is imported once; places of public imports shift with it.
            dependency.push(known);
        }
        chain.pop();
        parsed.dependency = dependency;
        dedup_imports(&mut parsed);
        if parsed.dependency.iter().any(|d| self.stand_ins.contains(d)) {
            graph_options::strip(&mut parsed, &graph_options::is_custom);
        }
        self.check_names(&parsed, text.as_ref())?;
        let plain = match edition {
            Some(_) => edition::plain(&parsed),
            None => parsed.clone(),
        };
        if let Err(error) = self.pool.add_file_descriptor_proto(plain) {
            return Err(self.descriptor_error(name, text.as_ref(), &error).into());
        }
        for (full, path) in place::definitions(&parsed) {
            self.defined.insert(full, (name.to_owned(), path));
        }
        if let Some(text) = text {
            if let Ok(real) = text.path.canonicalize() {
                self.known.insert(Identity::Path(real), name.to_owned());
            }
            self.known.insert(Identity::Text(text.text.clone()), name.to_owned());
            self.texts.insert(name.to_owned(), text);
        }
        if let Some(edition) = edition {
            self.editions.insert(name.to_owned(), edition);
        }
        self.parsed.insert(name.to_owned(), parsed);
        Ok(name.to_owned())
    }

    /// One import of a file.
    fn import(
        &mut self,
        import: &str,
        index: usize,
        text: Option<&Text>,
        parsed: &Parsed,
        chain: &mut Vec<String>,
    ) -> Result<String, Fault> {
        let error = |message: String| {
            let Some(text) = text else { return Error::new(parsed.name(), message) };
            let error = text.error(message);
            match place::import(&text.text, parsed, index) {
                Some(span) => error.at(&text.text, span),
                None => error,
            }
        };
        if let Some(at) = chain.iter().position(|c| c == import) {
            let cycle = chain.get(at..).unwrap_or_default().join(" -> ");
            let message = match chain.len() - at {
                1 => format!("{import} imports itself"),
                _ => format!("import cycle {cycle} -> {import}"),
            };
            return Err(error(message).into());
        }
        if chain.len() >= MAX_CHAIN {
            return Err(error(format!("imports nest deeper than {MAX_CHAIN} files")).into());
        }
        let missing = !self.states.contains_key(import)
            && !self.roots.iter().any(|r| r.join(import).is_file())
            && bundled(import).is_none();
        if missing {
            let roots: Vec<String> = self.roots.iter().map(|r| r.display().to_string()).collect();
            let message =
                format!("import \"{import}\" not found in the roots searched: {}", roots.join(", "));
            if !self.sources.allow_missing_imports {
                return Err(error(message).into());
            }
            let stand_in = Parsed { name: Some(import.to_owned()), ..Parsed::default() };
            if self.pool.add_file_descriptor_proto(stand_in).is_ok() {
                self.warnings.push(error(format!("{message}; taken as empty, custom options are not read")));
                self.stand_ins.insert(import.to_owned());
                self.states.insert(import.to_owned(), State::Done(import.to_owned()));
            }
        }
        self.visit(import, chain).map_err(|fault| match fault {
            Fault::Known => error(format!("is left out: \"{import}\" does not compile")).into(),
            other => other,
        })
    }

    /// The name under which the same file was compiled before.
    fn same_as(&self, text: &Text) -> Option<String> {
        let by_path = text.path.canonicalize().ok().and_then(|p| self.known.get(&Identity::Path(p)));
        by_path.or_else(|| self.known.get(&Identity::Text(text.text.clone()))).cloned()
    }

    /// Refuses what another file defines already, naming both places.
    fn check_names(&self, parsed: &Parsed, text: Option<&Text>) -> Result<(), Fault> {
        for (full, path) in place::definitions(parsed) {
            let Some((other, other_path)) = self.defined.get(&full) else { continue };
            let short = full.rsplit('.').next().unwrap_or(&full);
            let there = self.texts.get(other).map(|t| {
                let span =
                    self.parsed.get(other).and_then(|p| place::definition(&t.text, p, other_path, short));
                let error = t.error("");
                let error = match span {
                    Some(span) => error.at(&t.text, span),
                    None => error,
                };
                match error.place {
                    Some((line, column)) => format!("{}:{line}:{column}", error.file),
                    None => error.file.clone(),
                }
            });
            let message = format!("{full} is defined here and in {}", there.unwrap_or_else(|| other.clone()));
            let error = match text {
                Some(text) => match place::definition(&text.text, parsed, &path, short) {
                    Some(span) => text.error(message).at(&text.text, span),
                    None => text.error(message),
                },
                None => Error::new(parsed.name(), message),
            };
            let error = error.help("name the files that count with --proto");
            return Err(Fault::Clash(error));
        }
        Ok(())
    }

    fn descriptor_error(&self, name: &str, text: Option<&Text>, error: &DescriptorError) -> Error {
        let file = error.file().unwrap_or(name);
        let text = if file == name { text } else { self.texts.get(file) };
        let Some(text) = text else { return Error::new(file, error.to_string()) };
        let result = text.error(error.to_string());
        match (error.line(), error.column()) {
            (Some(line), Some(column)) => match place::word(&text.text, line, column) {
                Some(span) => result.at(&text.text, span),
                None => result,
            },
            _ => result,
        }
    }

    /// The compiled files in our own mirror.
    fn finish(self) -> Result<Vec<FileDescriptorProto>, Error> {
        let mut files = Vec::new();
        for file in self.pool.files() {
            let mut decoded = FileDescriptorProto::decode(&*file.encode_to_vec())
                .map_err(|e| Error::new(file.name(), format!("cannot be compiled: {e}")))?;
            if let (Some(edition), Some(parsed)) =
                (self.editions.get(file.name()), self.parsed.get(file.name()))
            {
                edition::apply(&mut decoded, parsed, *edition).map_err(|e| Error::new(file.name(), e))?;
            }
            files.push(decoded);
        }
        Ok(files)
    }
}

/// Keeps one of several equal imports, and the places of public ones right.
fn dedup_imports(file: &mut Parsed) {
    let mut kept: Vec<String> = Vec::new();
    let mut moved = Vec::new();
    for import in std::mem::take(&mut file.dependency) {
        let at = kept.iter().position(|k| *k == import).unwrap_or(kept.len());
        moved.push(at as i32);
        if at == kept.len() {
            kept.push(import);
        }
    }
    for public in file.public_dependency.iter_mut().chain(&mut file.weak_dependency) {
        *public = moved.get(usize::try_from(*public).unwrap_or(usize::MAX)).copied().unwrap_or(*public);
    }
    file.public_dependency.dedup();
    file.dependency = kept;
}
