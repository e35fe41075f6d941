//! Arguments into a configuration: schemas loaded, names looked up, limits set.
//! Never decodes; after it nobody asks what the operator typed.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};

use rpcshark::base::Limits;
use rpcshark::base::text::{clean, nearest};
use rpcshark::dialect::{self, Mode, Plan};
use rpcshark::pdu::Protocol;
use rpcshark::pipeline::{Config, Expand};
use rpcshark::schema::{self, Schema, Sources, TypeId};
use rpcshark::source::{self, ConnIds, Format};
use rpcshark::transport::DecodeAs;

use super::args::{self, InputOptions, OutputOptions, RawProtocol, SchemaOptions};
use super::report;

/// Where the schema comes from.
pub fn sources(options: &SchemaOptions) -> Sources {
    Sources {
        roots: options.proto_path.clone(),
        protos: options.proto.clone(),
        descriptor_sets: options.descriptor_set.clone(),
        builtin: !options.no_builtin,
        allow_missing_imports: options.allow_missing_imports,
    }
}

/// The schema alone.
pub fn types(options: &SchemaOptions) -> Result<Schema> {
    let loaded = schema::load(&sources(options))?;
    for warning in &loaded.warnings {
        report::schema_error("warning", warning);
    }
    Ok(loaded.schema)
}

/// The schema and the dialects of a run.
pub fn schema(options: &SchemaOptions) -> Result<(Schema, Plan)> {
    let mut schema = types(options)?;
    let mut plan = Plan::default();
    if !options.no_builtin {
        dialect::compile(&dialect::builtin(), Mode::Lenient, &mut schema, &mut plan)?;
    }
    for path in &options.dialect {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read the dialect {}", shown(path)))?;
        let file = path.display().to_string();
        let rules = dialect::parse(&file, &text)?;
        dialect::compile(&rules, Mode::Strict { file: &file, text: &text }, &mut schema, &mut plan)?;
    }
    Ok((schema, plan))
}

/// The configuration of a run over captures.
pub fn config(
    schemas: &SchemaOptions,
    input: &InputOptions,
    output: &OutputOptions,
    expand: Expand,
) -> Result<Config> {
    let config = decoding(schemas, input)?;
    Ok(Config {
        expand: match output.expand {
            None => expand,
            Some(args::Expand::None) => Expand::None,
            Some(args::Expand::Carrier) => Expand::Carrier,
            Some(args::Expand::All) => Expand::All,
        },
        show_secrets: output.show_secrets,
        emit_defaults: output.emit_defaults,
        json_names: output.json_names,
        ..config
    })
}

/// The configuration as far as the input settles it: carried messages opened, credentials hidden.
pub fn decoding(schemas: &SchemaOptions, input: &InputOptions) -> Result<Config> {
    let (schema, plan) = schema(schemas)?;
    let as_type = input.as_type.as_deref().map(|name| type_named(&schema, name)).transpose()?;
    let mut map = HashMap::new();
    for rule in &input.map {
        let types = rule.split_once('=').and_then(|(path, types)| Some((path, types.split_once(',')?)));
        let Some((path, (request, response))) = types else {
            bail!("--map: expected PATH=REQUEST,RESPONSE, found '{}'", clean(rule));
        };
        let path = path.trim_start_matches('/').to_owned();
        map.insert(path, (type_named(&schema, request.trim())?, type_named(&schema, response.trim())?));
    }
    let mut keylog = Vec::new();
    for path in &input.keylog {
        keylog.push(read_keylog(path)?.into());
    }
    Ok(Config {
        schema,
        plan,
        limits: limits(input)?,
        as_type,
        map,
        encoding: input.encoding.as_ref().map(|e| e.to_ascii_lowercase()),
        raw: match input.protocol {
            RawProtocol::Connect => Protocol::ConnectStream,
            RawProtocol::Grpc => Protocol::Grpc,
            RawProtocol::GrpcWeb => Protocol::GrpcWeb,
        },
        decode_as: input.decode_as.iter().map(|rule| decode_as(rule)).collect::<Result<_>>()?,
        keylog,
        expand: Expand::Carrier,
        show_secrets: false,
        emit_defaults: false,
        json_names: false,
        correlate: false,
        filter: None,
        threads: input.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get())),
    })
}

/// How captures are opened.
pub fn source(input: &InputOptions) -> Result<source::Options> {
    let format = match &input.from {
        None => None,
        Some(name) => match Format::from_name(name) {
            Some(format) => Some(format),
            None => {
                let names: Vec<&str> = Format::ALL.iter().map(|f| f.name()).collect();
                let near = nearest(name, names.iter().copied())
                    .map(|n| format!("; did you mean '{n}'?"))
                    .unwrap_or_default();
                bail!("--from: no format '{}'{near} (known: {})", clean(name), names.join(" "));
            }
        },
    };
    Ok(source::Options {
        format,
        typed: input.as_type.is_some(),
        follow: input.follow,
        stop: None,
        limits: limits(input)?,
        conns: ConnIds::default(),
    })
}

fn limits(input: &InputOptions) -> Result<Limits> {
    let mut limits = Limits::default();
    if let Some(max) = input.max_frame {
        limits.max_frame = max;
    }
    if let Some(max) = input.max_inflate {
        limits.max_inflate = max;
    }
    if let Some(max) = input.max_depth {
        limits.max_depth = max;
    }
    for rule in &input.limits {
        let parts = rule.split_once('=').and_then(|(name, value)| Some((name, args::size(value).ok()?)));
        let Some((name, value)) = parts else {
            bail!("--limit: expected NAME=VALUE, found '{}'", clean(rule));
        };
        let name = name.replace('-', "_");
        if !limits.set(&name, value) {
            let near = nearest(&name, Limits::NAMES.iter().copied())
                .map(|n| format!("; did you mean '{n}'?"))
                .unwrap_or_default();
            bail!("--limit: no limit '{}'{near} (known: {})", clean(&name), Limits::NAMES.join(" "));
        }
    }
    Ok(limits)
}

/// The type of a name, or a message with the nearest known one.
pub fn type_named(schema: &Schema, name: &str) -> Result<TypeId> {
    if let Some(ty) = schema.type_by_name(name) {
        return Ok(ty);
    }
    if schema.is_empty() {
        bail!(
            "no message type '{}': no schema is loaded (give one with -I or --descriptor-set)",
            clean(name)
        );
    }
    match schema.nearest_type(name) {
        Some(near) => bail!("no message type '{}'; did you mean '{near}'?", clean(name)),
        None => {
            bail!("no message type '{}'; `rpcshark schema list` prints those that are loaded", clean(name))
        }
    }
}

fn decode_as(rule: &str) -> Result<(u16, DecodeAs)> {
    let parts = rule.split_once('=').and_then(|(port, what)| Some((port.parse().ok()?, what)));
    match parts {
        Some((port, "http")) => Ok((port, DecodeAs::Http)),
        Some((port, "h2")) => Ok((port, DecodeAs::H2)),
        Some((port, "tls")) => Ok((port, DecodeAs::Tls)),
        _ => bail!("--decode-as: expected PORT=http, PORT=h2 or PORT=tls, found '{}'", clean(rule)),
    }
}

fn read_keylog(path: &Path) -> Result<Vec<u8>> {
    // A key log of a long browser session is some megabytes; more is some other file.
    const MAX: u64 = 256 << 20;
    let file = fs::File::open(path).with_context(|| format!("cannot read the key log {}", shown(path)))?;
    let mut text = Vec::new();
    file.take(MAX)
        .read_to_end(&mut text)
        .with_context(|| format!("cannot read the key log {}", shown(path)))?;
    Ok(text)
}

/// A path fit to show.
pub fn shown(path: &Path) -> String {
    clean(&path.display().to_string())
}
