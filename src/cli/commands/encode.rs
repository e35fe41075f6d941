//! `encode`: records or messages in JSON back to bytes.
//! Never goes on after a mistake: what was written till then is whole.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use rpcshark::base::Limits;
use rpcshark::base::text::{clean, hex};
use rpcshark::dialect::{PayloadEncoding, Plan, Tunnel};
use rpcshark::encode::{self, Carried, Encoded, PayloadForm, Piece, Pieces, Role, SplitError, Wrap};
use rpcshark::schema::{Schema, TypeId};

use crate::cli::args::{Encode, To};
use crate::cli::exit::Exit;
use crate::cli::{report, setup, terminal};

/// Runs the command.
pub fn run(args: Encode) -> Result<Exit> {
    let (schema, plan) = setup::schema(&args.schema)?;
    let ty = args.as_type.as_deref().map(|name| setup::type_named(&schema, name)).transpose()?;
    match args.encoding.as_deref() {
        None | Some("gzip" | "identity") => {}
        Some(other) => bail!("--encoding: encode writes gzip or identity, not '{}'", clean(other)),
    }
    let hex = args.hex || args.to == To::Hex;
    if !hex && terminal::stdout_is_terminal() {
        bail!("bytes would upset the terminal: redirect them, or use --to hex");
    }
    if args.id.is_some() && args.to != To::Carrier {
        bail!("--id goes with --to carrier");
    }
    let mut writer = Writer {
        schema: &schema,
        plan: &plan,
        args: &args,
        ty,
        hex,
        out: BufWriter::with_capacity(1 << 16, io::stdout()),
        written: 0,
        outside: 0,
    };
    let stdin = [std::path::PathBuf::from("-")];
    let files = if args.files.is_empty() { &stdin[..] } else { &args.files };
    for path in files {
        let (input, name): (Box<dyn BufRead>, String) = if path == Path::new("-") {
            (Box::new(BufReader::new(io::stdin())), "standard input".to_owned())
        } else {
            let file = File::open(path).with_context(|| format!("cannot read {}", setup::shown(path)))?;
            (Box::new(BufReader::with_capacity(1 << 16, file)), setup::shown(path))
        };
        let mut pieces = Pieces::new(input, Limits::default().max_record);
        loop {
            let next = pieces.next_piece();
            let result = match next {
                Ok(None) => break,
                Ok(Some(piece)) => writer.piece(&piece, &name),
                Err(SplitError::Io(error)) => Err(anyhow!("{name}: {error}")),
                Err(error) => Err(anyhow!("{name}:{error}")),
            };
            if result.is_err() {
                writer.out.flush()?;
                result?;
            }
        }
    }
    writer.out.flush()?;
    if writer.outside > 0 {
        report::line(&format!(
            "note: {} left out: trailers and errors that no envelope held are no frames",
            if writer.outside == 1 { "1 record".to_owned() } else { format!("{} records", writer.outside) }
        ));
    }
    Ok(Exit::Done)
}

struct Writer<'a> {
    schema: &'a Schema,
    plan: &'a Plan,
    args: &'a Encode,
    ty: Option<TypeId>,
    hex: bool,
    out: BufWriter<io::Stdout>,
    written: u64,
    outside: u64,
}

impl Writer<'_> {
    /// Encodes and writes one record or message.
    fn piece(&mut self, piece: &Piece, name: &str) -> Result<()> {
        let encoded = match self.ty {
            None => encode::record(self.schema, &piece.text),
            Some(ty) => encode::message(self.schema, ty, &piece.text).map(|payload| Encoded {
                payload,
                flags: 0,
                compressed: self.args.encoding.as_deref() == Some("gzip"),
                role: Role::Message,
                ty: Some(ty),
                carrier: None,
            }),
        };
        let encoded = encoded.map_err(|error| {
            let (line, column) = piece.place(error.at);
            let path =
                if error.path.is_empty() { String::new() } else { format!("{}: ", clean(&error.path)) };
            anyhow!("{name}:{line}:{column}: {path}{}", clean(&error.text))
        })?;
        if encoded.role == Role::Outside
            || encoded.role == Role::End && self.args.to != To::Frames && self.args.to != To::Hex
        {
            self.outside += 1;
            return Ok(());
        }
        let place = || format!("{name}:{}:{}", piece.line, piece.column);
        let mut bytes = Vec::new();
        match self.args.to {
            To::Frames | To::Hex => {
                let (flags, payload) = self.compressed(&encoded)?;
                encode::envelope(flags, &payload, &mut bytes)
                    .ok_or_else(|| anyhow!("{}: the message is longer than 4 GiB", place()))?;
            }
            To::Message => bytes = encoded.payload,
            To::Carrier => bytes = self.carried(&encoded).with_context(place)?,
        }
        if !self.hex && self.written > 0 && matches!(self.args.to, To::Message | To::Carrier) {
            bail!(
                "{}: nothing tells where a bare message ends: one can be written, or many with --hex",
                place()
            );
        }
        self.written += 1;
        if self.hex {
            writeln!(self.out, "{}", hex(&bytes))?;
        } else {
            self.out.write_all(&bytes)?;
        }
        Ok(())
    }

    /// Flags and payload, compressed again where that is wanted.
    fn compressed(&self, encoded: &Encoded) -> Result<(u8, Vec<u8>)> {
        if !encoded.compressed {
            return Ok((encoded.flags, encoded.payload.clone()));
        }
        if self.args.encoding.as_deref() != Some("gzip") {
            return Ok((encoded.flags & !1, encoded.payload.clone()));
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&encoded.payload)?;
        Ok((encoded.flags | 1, gzip.finish()?))
    }

    /// The message inside the message that carries it.
    fn carried(&self, encoded: &Encoded) -> Result<Vec<u8>> {
        let carried = encoded.carrier.clone().unwrap_or_default();
        let tunnel = self.tunnel(encoded.ty, &carried)?;
        let outer = self.schema.ty(tunnel.carrier);
        let payload = tunnel
            .payloads
            .iter()
            .find(|p| outer.field(p.field).is_some_and(|f| *f.name == *carried.field))
            .or(tunnel.payloads.first())
            .ok_or_else(|| anyhow!("the rule for {} names no field for the payload", outer.name))?;
        let form = match payload.encoding {
            PayloadEncoding::Hex => PayloadForm::Hex,
            PayloadEncoding::Base64 => PayloadForm::Base64,
            PayloadEncoding::Raw => PayloadForm::Raw,
        };
        let member =
            |name: &str| carried.members.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str());
        let order = tunnel.order.and_then(|place| {
            let name = &outer.field(place)?.name;
            let number = member(name).and_then(|n| n.parse().ok()).unwrap_or(self.written as i64);
            Some((place, number))
        });
        let namespace = tunnel.namespace.and_then(|n| Some((n, self.plan.namespaces.get(usize::from(n))?)));
        let id = namespace.and_then(|(number, namespace)| {
            let id = self.args.id.as_deref().or_else(|| member(&namespace.key))?;
            Some((encode::id_path(self.schema, tunnel.carrier, number)?, id.to_owned()))
        });
        let wrap = Wrap { carrier: tunnel.carrier, payload: (payload.field, form), order, id };
        wrap.wrap(self.schema, &encoded.payload).map_err(|text| anyhow!("{}: {}", outer.name, clean(&text)))
    }

    /// The rule whose carrier the record names, or else the first that carries its type.
    fn tunnel(&self, ty: Option<TypeId>, carried: &Carried) -> Result<&Tunnel> {
        let named = self.schema.type_by_name(&carried.message_type).and_then(|ty| self.plan.tunnel(ty));
        let fitting = || {
            let ty = ty?;
            self.plan.tunnels.iter().find(|t| t.inner == ty || t.siblings.iter().any(|(_, s)| *s == ty))
        };
        named.or_else(fitting).ok_or_else(|| match ty {
            Some(ty) => anyhow!("no rule of the dialect carries {}", self.schema.ty(ty).name),
            None => anyhow!("no rule of the dialect carries a message without a type"),
        })
    }
}
