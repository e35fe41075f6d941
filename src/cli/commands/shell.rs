//! `completions`, `man`: what a shell and `man` need, made from the definition of the command line.
//! Never reads a capture.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use clap_complete::env::Shells;

use rpcshark::base::text::clean;

use crate::cli::args::{Cli, Completions, Man};
use crate::cli::completion::VARIABLE;
use crate::cli::exit::Exit;
use crate::cli::private;
use crate::cli::setup::shown;

/// Prints the function that a shell completes with; it asks the program itself, so that types and kinds
/// of the schema in use are known.
pub fn completions(args: Completions) -> Result<Exit> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        let names: Vec<_> = shells.names().collect();
        bail!("no completion for '{}' (known: {})", clean(&args.shell), names.join(", "));
    };
    let mut out = Vec::new();
    shell.write_registration(VARIABLE, "rpcshark", "rpcshark", "rpcshark", &mut out)?;
    if args.shell == "zsh" {
        out.extend_from_slice(AUTOLOADED);
    }
    io::stdout().write_all(&out)?;
    Ok(Exit::Done)
}

/// A file in zsh's `$fpath` is run as the completion itself the first time: it has to complete, not only to define.
const AUTOLOADED: &[u8] = b"
if [ \"$funcstack[1]\" = \"_rpcshark\" ]; then
    _clap_dynamic_completer_rpcshark \"$@\"
fi
";

/// Prints one man page, or writes all of them into a folder.
pub fn man(args: Man) -> Result<Exit> {
    let mut cli = Cli::command();
    cli.build();
    if let Some(folder) = args.write_to {
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", shown(&folder)))?;
        pages(&cli, &folder, args.force)?;
        return Ok(Exit::Done);
    }
    let command = match &args.command {
        None => &cli,
        Some(name) => cli
            .find_subcommand(name)
            .with_context(|| format!("no command '{}'; `rpcshark --help` lists them", clean(name)))?,
    };
    let mut out = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    io::stdout().write_all(&out)?;
    Ok(Exit::Done)
}

fn pages(command: &clap::Command, folder: &Path, force: bool) -> Result<()> {
    let man = clap_mangen::Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    let path = folder.join(man.get_filename());
    let mut file = private::create_for_all(&path, force)?;
    file.write_all(&page).with_context(|| format!("cannot write {}", shown(&path)))?;
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        pages(sub, folder, force)?;
    }
    Ok(())
}
