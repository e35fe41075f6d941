//! Pages what goes to a terminal, as git does: RPCSHARK_PAGER, the settings file, PAGER, else `less -FRX`.
//! Never pages a pipe, a live capture or what fits no page: `less -F` ends by itself there.

use std::env;
use std::io::{self, IsTerminal};
#[cfg(unix)]
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, Command, Stdio};

use super::terminal;

/// A pager that standard output goes to, and standard error where that is a terminal too; waits for it when
/// dropped, and gives the terminal back.
pub struct Pager {
    child: Child,
    before: Streams,
}

/// Starts the pager and puts it behind standard output; `None` where there is none to be had.
pub fn start(settled: Option<&str>) -> Option<Pager> {
    if !terminal::stdout_is_terminal() || !io::stdin().is_terminal() {
        return None;
    }
    let line = choose(|name| env::var(name).ok(), settled)?;
    // The line is the operator's and may hold options and quotes: the shell reads it, as for git.
    let mut child = Command::new("sh");
    child.arg("-c").arg(line).stdin(Stdio::piped());
    for (name, default) in [("LESS", "FRX"), ("LV", "-c")] {
        if env::var_os(name).is_none() {
            child.env(name, default);
        }
    }
    let mut child = child.spawn().ok()?;
    let pipe = child.stdin.take()?;
    let before = Streams::redirect(pipe).ok()?;
    Some(Pager { child, before })
}

/// The command line of the pager, by who says it first; none where it is empty or `cat`.
fn choose(var: impl Fn(&str) -> Option<String>, settled: Option<&str>) -> Option<String> {
    let line = var("RPCSHARK_PAGER")
        .or_else(|| settled.map(str::to_owned))
        .or_else(|| var("PAGER"))
        .unwrap_or_else(|| "less".to_owned());
    let line = line.trim();
    (!line.is_empty() && line != "cat").then(|| line.to_owned())
}

impl Drop for Pager {
    fn drop(&mut self) {
        // The pager ends when its input does.
        self.before.restore();
        let _ = self.child.wait();
    }
}

/// Standard output and standard error as they were.
#[cfg(unix)]
struct Streams {
    out: OwnedFd,
    err: Option<OwnedFd>,
}

#[cfg(unix)]
impl Streams {
    fn redirect(pipe: ChildStdin) -> io::Result<Self> {
        let out = io::stdout().as_fd().try_clone_to_owned()?;
        let err = match io::stderr().is_terminal() {
            true => Some(io::stderr().as_fd().try_clone_to_owned()?),
            false => None,
        };
        rustix::stdio::dup2_stdout(&pipe)?;
        if err.is_some() {
            rustix::stdio::dup2_stderr(&pipe)?;
        }
        Ok(Self { out, err })
    }

    fn restore(&self) {
        let _ = rustix::stdio::dup2_stdout(&self.out);
        if let Some(err) = &self.err {
            let _ = rustix::stdio::dup2_stderr(err);
        }
    }
}

#[cfg(not(unix))]
struct Streams;

#[cfg(not(unix))]
impl Streams {
    fn redirect(_: ChildStdin) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn restore(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(vars: &[(&str, &str)], settled: Option<&str>) -> Option<String> {
        choose(|name| vars.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()), settled)
    }

    #[test]
    fn who_says_it_first() {
        assert_eq!(check(&[], None).as_deref(), Some("less"));
        assert_eq!(check(&[("PAGER", "more")], None).as_deref(), Some("more"));
        assert_eq!(check(&[("PAGER", "more")], Some("most -s")).as_deref(), Some("most -s"));
        assert_eq!(check(&[("RPCSHARK_PAGER", "less -S")], Some("most")).as_deref(), Some("less -S"));
    }

    #[test]
    fn none_is_asked_for() {
        assert_eq!(check(&[("RPCSHARK_PAGER", "")], Some("most")), None);
        assert_eq!(check(&[("PAGER", "cat")], None), None);
        assert_eq!(check(&[], Some(" ")), None);
    }
}
