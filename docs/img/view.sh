#!/bin/sh
# Makes docs/img/view.png and docs/img/timeline.png: `rpcshark view` on a shipped fixture, in tmux, drawn by Chromium.
# Needs tmux, python3, chromium and a monospaced font. RPCSHARK names the program (default: what cargo builds).
set -eu
cd "$(dirname "$0")/../.."
program=${RPCSHARK:-${CARGO_TARGET_DIR:-target}/debug/rpcshark}
work=$(mktemp -d)
socket=rpcshark-picture-$$
trap 'tmux -L "$socket" kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

tmux -L "$socket" -f /dev/null new-session -d -x 144 -y 42 -c "$PWD/fixtures" \
    "env TERM=screen-256color NO_COLOR= '$(realpath "$program")' --no-config view good-bidi.pcap"
press() {
    tmux -L "$socket" send-keys "$@"
    sleep 0.5
}
picture() {
    tmux -L "$socket" capture-pane -e -N -p >"$work/screen.txt"
    python3 docs/img/ansi.py <"$work/screen.txt" >"$work/screen.html"
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --force-device-scale-factor=2 \
        --window-size="$(sed -n 's/.*data-size="\([0-9,]*\)".*/\1/p' "$work/screen.html" | head -1)" \
        --screenshot="$PWD/docs/img/$1" "file://$work/screen.html" >/dev/null 2>&1
    echo "docs/img/$1"
}

sleep 2
# A tool's answer, unfolded to the field whose bytes are lit.
press : 8 Enter
press Enter
press j j j '#'
picture view.png
press Escape
press t
picture timeline.png
press q q
