//! What stands below the help of each command: lines to copy.
//! Never an option that the command does not take: a test parses each line.

pub const RPCSHARK: &str = "\
Examples:
  rpcshark decode session.har | jq .message            JSON Lines in a pipe
  rpcshark view session.pcap                           look around in the terminal
  rpcshark timeline session.pcap                       requests with their answers
  rpcshark diff monday.pcap tuesday.har                what changed
  rpcshark export --to html -o report.html session.pcap
`rpcshark COMMAND --help` says more, `-h` less.";

pub const DECODE: &str = "\
Examples:
  rpcshark decode session.har
  rpcshark decode session.har | jq .message
  tcpdump -U -w - | rpcshark decode -
  rpcshark decode -I protos --as pkg.Reply body.bin
  rpcshark decode -Y 'message.**.text contains \"error\"' session.pcap
  rpcshark decode --jq '[.frame, .kind]' session.pcap";

pub const TIMELINE: &str = "\
Examples:
  rpcshark timeline session.pcap
  rpcshark timeline session.pcap | jq 'select(.type==\"link\" and .state!=\"answered\")'
  rpcshark timeline --at 46 session.pcap";

pub const FOLLOW: &str = "\
Examples:
  rpcshark follow session.har
  rpcshark follow --stream shell session.pcap
  rpcshark follow --stream all session.pcap";

pub const DIFF: &str = "\
Examples:
  rpcshark diff monday.pcap tuesday.har
  rpcshark diff --stat a.pcap b.pcap
  rpcshark diff --ignore '**.cwd' --only message.text a.pcap b.pcap
  rpcshark diff --run 1:2 session.pcap session.pcap
  rpcshark diff --format jsonl a.pcap b.pcap | jq -r 'select(.type==\"changed\").path'";

pub const STATS: &str = "\
Examples:
  rpcshark stats session.pcap
  rpcshark stats -Y 'run.ending == \"error\"' captures/
  rpcshark stats --jq .kinds session.pcap";

pub const CHECK: &str = "\
Examples:
  rpcshark check session.pcap
  rpcshark check --fail-on warning session.har || echo look at it
  rpcshark check -e code -e frames session.pcap";

pub const BLOBS: &str = "\
Examples:
  rpcshark blobs session.pcap
  rpcshark blobs --id 4fdc --write-to blobs --show-secrets session.pcap";

pub const EXPORT: &str = "\
Examples:
  rpcshark export --to html -o report.html session.pcap
  rpcshark export --to perfetto session.har > trace.json
  rpcshark export --to mermaid session.pcap >> README.md";

pub const ENCODE: &str = "\
Examples:
  rpcshark decode --expand none --show-secrets session.har | rpcshark encode > frames.bin
  echo '{\"text\":\"hello\"}' | rpcshark encode -I protos --as pkg.Chat --to hex";

pub const SCHEMA: &str = "\
Examples:
  rpcshark schema list -I protos
  rpcshark schema show -I protos pkg.Reply
  rpcshark schema coverage session.pcap";

pub const SCHEMA_LIST: &str = "\
Examples:
  rpcshark schema list
  rpcshark schema list -I protos --no-builtin | grep ^method";

pub const SCHEMA_SHOW: &str = "\
Examples:
  rpcshark schema show google.protobuf.Timestamp
  rpcshark schema show -I protos pkg.Reply";

pub const SCHEMA_COMPILE: &str = "\
Examples:
  rpcshark schema compile -I protos --no-builtin -o api.binpb
  rpcshark decode --descriptor-set api.binpb session.pcap";

pub const SCHEMA_DIFF: &str = "\
Examples:
  rpcshark schema diff protos-v1 protos-v2
  rpcshark schema diff --breaking api-v1.binpb api-v2.binpb";

pub const SCHEMA_COVERAGE: &str = "\
Examples:
  rpcshark schema coverage session.pcap
  rpcshark schema coverage --all -I protos --format text session.pcap";

pub const DIALECT: &str = "\
Examples:
  rpcshark dialect check chat.txtpb -I protos --no-builtin
  rpcshark dialect show";

pub const DIALECT_CHECK: &str = "\
Examples:
  rpcshark dialect check
  rpcshark dialect check chat.txtpb -I protos --no-builtin";

pub const DIALECT_SHOW: &str = "\
Examples:
  rpcshark dialect show
  rpcshark dialect show chat.txtpb -I protos --no-builtin";

pub const VIEW: &str = "\
Examples:
  rpcshark view session.pcap
  rpcshark view -Y 'findings.severity >= \"warning\"' session.har
  rpcshark view --columns frame,time,kind,message.**.path session.pcap
  tcpdump -U -w - | rpcshark view -";

pub const COMPLETIONS: &str = "\
Examples:
  source <(rpcshark completions bash)
  rpcshark completions zsh > ~/.zfunc/_rpcshark
  rpcshark completions fish > ~/.config/fish/completions/rpcshark.fish";

pub const MAN: &str = "\
Examples:
  rpcshark man | man -l -
  rpcshark man --write-to ~/.local/share/man/man1";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use crate::cli::args::Cli;

    /// The words of each call of the program in a line of shell, as a shell splits them.
    fn calls(line: &str) -> Vec<Vec<String>> {
        let mut calls = vec![Vec::new()];
        let (mut word, mut quoted, mut begun) = (String::new(), false, false);
        for c in line.chars().chain([' ']) {
            match c {
                '\'' => (quoted, begun) = (!quoted, true),
                _ if quoted => word.push(c),
                ' ' | '|' | '>' | '(' | ')' | '<' => {
                    if begun || !word.is_empty() {
                        calls.last_mut().expect("one call").push(std::mem::take(&mut word));
                    }
                    begun = false;
                    if c != ' ' {
                        calls.push(Vec::new());
                    }
                }
                _ => word.push(c),
            }
        }
        calls.retain(|words| words.first().is_some_and(|w| w == "rpcshark"));
        calls
    }

    fn examples(command: &clap::Command, path: &str) -> usize {
        let help = command.get_after_help().map(|h| h.to_string()).unwrap_or_default();
        let lines: Vec<_> = help.lines().filter_map(|l| l.strip_prefix("  ")).collect();
        assert!(help.starts_with("Examples:\n") && !lines.is_empty(), "{path} has no examples");
        for line in &lines {
            // Behind two spaces or more stands what it is for.
            let line = line.split("   ").next().unwrap_or_default();
            let calls = calls(line);
            assert!(!calls.is_empty(), "{path}: {line}");
            for words in calls {
                if let Err(error) = Cli::try_parse_from(&words) {
                    panic!("{path}: {line}\n{error}");
                }
            }
        }
        let below = command.get_subcommands().filter(|c| c.get_name() != "help");
        lines.len() + below.map(|c| examples(c, &format!("{path} {}", c.get_name()))).sum::<usize>()
    }

    #[test]
    fn every_command_has_examples_that_parse() {
        assert!(examples(&Cli::command(), "rpcshark") > 40);
    }
}
