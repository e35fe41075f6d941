//! `view`: the terminal interface.
//! Never writes over a file without asking, nor a credential that the screen does not show.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ratatui::crossterm::event::{self, Event, KeyEventKind};

use rpcshark::base::text::clean;
use rpcshark::pipeline::Window;
use rpcshark::source::{self, Options, Reader};
use rpcshark::view::text::TimeStyle;
use rpcshark::view::tui::{App, Column, Columns, Frames, Out, Palette, Size};

use crate::cli::args::{Time, View};
use crate::cli::exit::Exit;
use crate::cli::expression::{self, Moment};
use crate::cli::screen::{MAX_CLIPBOARD, Screen};
use crate::cli::{report, setup, terminal};

/// How often the screen is brought up to date while frames come.
const TICK: Duration = Duration::from_millis(60);
/// How long to wait for a key where nothing else can happen.
const STILL: Duration = Duration::from_secs(60);

/// Runs the command.
pub fn run(args: View) -> Result<Exit> {
    terminal::settle_color(args.color);
    if !terminal::stdout_is_terminal() {
        bail!("view draws on a terminal: for a pipe there is `rpcshark decode`");
    }
    let mut config = setup::decoding(&args.schema, &args.input)?;
    config.correlate = true;
    config.show_secrets = args.show_secrets;
    if let Some(text) = &args.filter {
        // Refused here, where there is room for the whole of what is wrong.
        let moment = if args.input.follow { Moment::Frame } else { Moment::Session };
        expression::filter(text, &config.schema, &config.plan, moment)?;
    }
    let copies = args.output.as_deref().map(new_file).transpose()?;
    let captures = Captures::find(&args.files, setup::source(&args.input)?)?;
    let failed = captures.failed.clone();
    let name = match args.files.as_slice() {
        [one] if one.as_os_str() == "-" => "standard input".to_owned(),
        [one] => one.display().to_string(),
        many => format!("{} captures", many.len()),
    };
    let names = if args.columns.is_empty() {
        Column::USUAL.split(',').collect()
    } else {
        args.columns.iter().map(String::as_str).collect::<Vec<_>>()
    };
    let columns = Columns {
        list: names.into_iter().map(str::trim).filter(|n| !n.is_empty()).map(Column::named).collect(),
        time: match args.time {
            Time::Relative => TimeStyle::Relative,
            Time::Absolute => TimeStyle::Absolute,
            Time::Delta => TimeStyle::Delta,
            Time::Epoch => TimeStyle::Epoch,
        },
    };
    let palette = Palette { color: colored::control::SHOULD_COLORIZE.should_colorize() };
    let mut screen = Screen::open(!args.no_mouse).context("cannot take the terminal over")?;
    let window = Window::open(config, name, args.input.follow, captures);
    let mut app = App::new(window, columns, palette, screen.size()?);
    app.state.tail = args.input.follow;
    if let Some(text) = &args.filter {
        // Checked above.
        let _ = app.set_filter(text);
    }
    let looked = look(&mut app, &mut screen, copies);
    let broken = screen.is_broken();
    drop(screen);
    let failed = failed.lock().map(|failed| failed.clone()).unwrap_or_default();
    failed.iter().for_each(|text| report::line(&format!("error: {text}")));
    looked?;
    if broken {
        bail!("view had to stop: the message above says where");
    }
    Ok(if failed.is_empty() { Exit::Done } else { Exit::Unusable })
}

/// Keys in, screens out, until it is over.
fn look(app: &mut App<Window>, screen: &mut Screen, mut copies: Option<File>) -> io::Result<()> {
    let mut stale = true;
    while !app.state.over && !screen.is_broken() {
        if app.refresh() || stale {
            screen.draw(|buffer| {
                let size = Size { width: buffer.area.width, height: buffer.area.height };
                if size != app.state.size {
                    app.resize(size);
                }
                app.draw(buffer)
            })?;
            stale = false;
        }
        let wait = if app.is_waiting() { TICK } else { STILL };
        if !event::poll(wait)? {
            continue;
        }
        // All that has been typed by now is done before the screen is drawn again.
        loop {
            let asked = match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => app.key(key),
                Event::Mouse(mouse) => app.mouse(mouse),
                Event::Paste(text) => app.paste(&text),
                Event::Resize(width, height) => {
                    app.resize(Size { width, height });
                    None
                }
                _ => None,
            };
            stale = true;
            if let Some(asked) = asked {
                answer(app, screen, copies.as_mut(), asked)?;
            }
            if app.state.over || !event::poll(Duration::ZERO)? {
                break;
            }
        }
    }
    Ok(())
}

/// What only the machine can do.
fn answer(
    app: &mut App<Window>,
    screen: &mut Screen,
    copies: Option<&mut File>,
    asked: Out,
) -> io::Result<()> {
    match asked {
        Out::Redraw => screen.clear()?,
        Out::Suspend => screen.suspend()?,
        Out::Copy(what, text) => match copies {
            Some(file) => match writeln!(file, "{text}").and_then(|()| file.flush()) {
                Ok(()) => {
                    app.state.say(format!("{what}: {} characters written to the file", text.chars().count()))
                }
                Err(error) => app.state.refuse(format!("{what}: {}", clean(&error.to_string()))),
            },
            None if text.len() > MAX_CLIPBOARD => {
                app.state.refuse(format!(
                    "{what}: {} bytes are more than a clipboard takes: view -o FILE writes them",
                    text.len()
                ));
            }
            None => {
                screen.copy(&text)?;
                app.state.say(format!("copied {what}: {} characters", text.chars().count()));
            }
        },
        Out::Write(name, frames, over) => {
            let path = PathBuf::from(&name);
            match write(app, &path, &frames, over) {
                Ok(()) => {
                    let plural = if frames.len() == 1 { "" } else { "s" };
                    app.state.say(format!("{} record{plural} written to {}", frames.len(), clean(&name)));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !over => {
                    app.ask_overwrite(name)
                }
                Err(error) => app.state.refuse(format!("{}: {}", clean(&name), clean(&error.to_string()))),
            }
        }
    }
    Ok(())
}

/// Writes records, a line of JSON each, into a file that only its owner can read.
fn write(app: &mut App<Window>, path: &Path, frames: &[u64], over: bool) -> io::Result<()> {
    let mut options = own(OpenOptions::new());
    let file = match over {
        true => options.write(true).create(true).truncate(true).open(path)?,
        false => options.write(true).create_new(true).open(path)?,
    };
    let mut file = BufWriter::new(file);
    for number in frames {
        if let Some(record) = app.frames.record(*number) {
            file.write_all(&record)?;
        }
    }
    file.flush()
}

/// A file that is not there yet, for what is copied.
fn new_file(path: &Path) -> Result<File> {
    let shown = setup::shown(path);
    own(OpenOptions::new())
        .append(true)
        .create_new(true)
        .open(path)
        .with_context(|| format!("cannot make {shown} for what is copied; it must not be there yet"))
}

/// Files are made for their owner alone.
fn own(mut options: OpenOptions) -> OpenOptions {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    options
}

/// The captures, opened one after the other on the reading thread.
struct Captures {
    first: Option<Reader>,
    paths: std::vec::IntoIter<PathBuf>,
    options: Options,
    /// Those that could not be opened.
    failed: Arc<Mutex<Vec<String>>>,
}

impl Captures {
    /// Looks for captures; one that is named alone and cannot be opened is told before anything is drawn.
    fn find(files: &[PathBuf], options: Options) -> Result<Self> {
        let mut paths = Vec::new();
        for path in files {
            let found = source::discover(path, &options)?;
            for error in &found.failed {
                report::unread(error);
            }
            paths.extend(found.captures);
        }
        let mut paths = paths.into_iter();
        let Some(first) = paths.next() else { bail!("no capture to look at") };
        let first = Some(Reader::open(&first, &options)?);
        Ok(Self { first, paths, options, failed: Arc::default() })
    }
}

impl Iterator for Captures {
    type Item = Reader;

    fn next(&mut self) -> Option<Reader> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        loop {
            match Reader::open(&self.paths.next()?, &self.options) {
                Ok(reader) => return Some(reader),
                Err(error) => {
                    if let Ok(mut failed) = self.failed.lock() {
                        failed.push(clean(&error.to_string()));
                    }
                }
            }
        }
    }
}
