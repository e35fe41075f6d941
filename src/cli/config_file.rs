//! The operator's settings file: schemas, dialects, colour and columns that need not be typed each time.
//! Never overrules the command line; never read with --no-config.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use etcetera::BaseStrategy;
use serde::Deserialize;

use super::args::{
    Blobs, Check, Cli, Color, Command, DialectCommand, Export, Follow, OutputOptions, SchemaCommand,
    SchemaOptions, Timeline,
};
use super::setup::shown;

/// What the file may hold. Paths are taken from the folder of the file; `~/` is the home folder.
#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// As --proto-path.
    pub proto_path: Vec<PathBuf>,
    /// As --proto.
    pub proto: Vec<PathBuf>,
    /// As --descriptor-set.
    pub descriptor_set: Vec<PathBuf>,
    /// As --dialect.
    pub dialect: Vec<PathBuf>,
    /// As --no-builtin.
    pub no_builtin: bool,
    /// As --color.
    pub color: Option<Color>,
    /// What text is paged through; the empty text pages nothing.
    pub pager: Option<String>,
    /// As --columns.
    pub columns: Vec<String>,
}

/// Reads the file, where there is one.
pub fn load() -> Result<Settings> {
    let Ok(base) = etcetera::choose_base_strategy() else { return Ok(Settings::default()) };
    let path = base.config_dir().join("rpcshark").join("config.toml");
    match fs::read_to_string(&path) {
        Ok(text) => parse(&text, &path, base.home_dir()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Settings::default()),
        Err(error) => Err(error).with_context(|| format!("cannot read the settings {}", shown(&path))),
    }
}

fn parse(text: &str, path: &Path, home: &Path) -> Result<Settings> {
    let mut settings: Settings = toml::from_str(text).with_context(|| {
        format!("{}: not a settings file of rpcshark (--no-config goes on without it)", shown(path))
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let lists =
        [&mut settings.proto_path, &mut settings.proto, &mut settings.descriptor_set, &mut settings.dialect];
    for entry in lists.into_iter().flatten() {
        *entry = match entry.strip_prefix("~") {
            Ok(below) => home.join(below),
            Err(_) => folder.join(&*entry),
        };
    }
    Ok(settings)
}

impl Settings {
    /// Fills in what the command line leaves open.
    pub fn apply(&self, cli: &mut Cli) {
        if let Command::View(view) = &mut cli.command {
            view.color = view.color.or(self.color);
            if view.columns.is_empty() {
                view.columns.clone_from(&self.columns);
            }
        }
        let (schema, output) = options(&mut cli.command);
        if let Some(schema) = schema {
            self.fill(schema);
        }
        if let Some(output) = output {
            output.color = output.color.or(self.color);
        }
    }

    /// Puts its schemas before those that were typed; a schema typed with --no-builtin stands alone.
    pub fn fill(&self, schema: &mut SchemaOptions) {
        if schema.no_builtin {
            return;
        }
        prepend(&mut schema.proto_path, &self.proto_path);
        prepend(&mut schema.proto, &self.proto);
        prepend(&mut schema.descriptor_set, &self.descriptor_set);
        prepend(&mut schema.dialect, &self.dialect);
        schema.no_builtin = self.no_builtin;
    }
}

fn prepend(typed: &mut Vec<PathBuf>, settled: &[PathBuf]) {
    typed.splice(0..0, settled.iter().cloned());
}

/// The options of a command that settings may fill in.
pub fn options(command: &mut Command) -> (Option<&mut SchemaOptions>, Option<&mut OutputOptions>) {
    match command {
        Command::Decode(c)
        | Command::Stats(c)
        | Command::Timeline(Timeline { common: c, .. })
        | Command::Follow(Follow { common: c, .. })
        | Command::Check(Check { common: c, .. })
        | Command::Blobs(Blobs { common: c, .. })
        | Command::Export(Export { common: c, .. }) => (Some(&mut c.schema), Some(&mut c.output)),
        Command::Diff(c) => (Some(&mut c.schema), Some(&mut c.output)),
        Command::Encode(c) => (Some(&mut c.schema), None),
        Command::View(c) => (Some(&mut c.schema), None),
        Command::Schema(c) => match &mut c.command {
            SchemaCommand::List { schema } | SchemaCommand::Show { schema, .. } => (Some(schema), None),
            SchemaCommand::Compile { schema, .. } => (Some(schema), None),
            SchemaCommand::Coverage(c) => (Some(&mut c.common.schema), Some(&mut c.common.output)),
            SchemaCommand::Diff { .. } => (None, None),
        },
        Command::Dialect(c) => match &mut c.command {
            DialectCommand::Check { schema, .. } | DialectCommand::Show { schema, .. } => {
                (Some(schema), None)
            }
        },
        Command::Completions(_) | Command::Man(_) => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn check(text: &str) -> Result<Settings> {
        parse(text, Path::new("/etc/x/rpcshark/config.toml"), Path::new("/home/me"))
    }

    #[test]
    fn paths_are_taken_from_the_file_and_the_home_folder() {
        let settings = check("proto_path = ['protos', '~/p', '/abs']\ncolor = 'never'").unwrap();
        let paths: Vec<_> = settings.proto_path.iter().map(|p| p.display().to_string()).collect();
        assert_eq!(paths, ["/etc/x/rpcshark/protos", "/home/me/p", "/abs"]);
        assert_eq!(settings.color, Some(Color::Never));
    }

    #[test]
    fn unknown_keys_and_bad_values_are_refused() {
        assert!(format!("{:#}", check("protopath = []").unwrap_err()).contains("protopath"));
        assert!(check("color = 'blue'").is_err() && check("= 3").is_err());
    }

    #[test]
    fn the_command_line_wins() {
        let settings = check("proto_path = ['a']\ncolor = 'never'").unwrap();
        let mut cli = Cli::parse_from(["rpcshark", "decode", "-I", "b", "--color", "always", "x"]);
        settings.apply(&mut cli);
        let Command::Decode(decode) = &cli.command else { panic!("decode was typed") };
        assert_eq!(decode.schema.proto_path, [Path::new("/etc/x/rpcshark/a"), Path::new("b")]);
        assert_eq!(decode.output.color, Some(Color::Always));
    }

    #[test]
    fn a_schema_that_stands_alone_is_left_alone() {
        let settings = check("proto_path = ['a']").unwrap();
        let mut cli = Cli::parse_from(["rpcshark", "schema", "list", "--no-builtin", "-I", "b"]);
        settings.apply(&mut cli);
        assert_eq!(options(&mut cli.command).0.map(|s| s.proto_path.len()), Some(1));
    }
}
