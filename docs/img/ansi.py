"""A terminal's screen, as `tmux capture-pane -e` gives it, into a page with a cell for each character."""

import html
import re
import sys
import unicodedata

WIDTH, HEIGHT = 8.43, 18
BASE = ["#1d1f21", "#cc6666", "#8abd5f", "#e6b450", "#6699cc", "#b294bb", "#62b5b0", "#c5c8c6"]
BRIGHT = ["#70767c", "#f2777a", "#a5d46a", "#ffd866", "#81a9e0", "#d0a8dc", "#8bd5ca", "#ffffff"]


def indexed(n):
    if n < 16:
        return (BASE + BRIGHT)[n]
    if n >= 232:
        grey = 8 + 10 * (n - 232)
        return f"#{grey:02x}{grey:02x}{grey:02x}"
    n -= 16
    level = [0, 95, 135, 175, 215, 255]
    return "#" + "".join(f"{level[(n // f) % 6]:02x}" for f in (36, 6, 1))


def apply(style, codes):
    codes = [int(c or 0) for c in codes.split(";")]
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code in (1, 2, 4, 7):
            style[{1: "bold", 2: "dim", 4: "under", 7: "reverse"}[code]] = True
        elif code in (38, 48) and len(codes) >= 2 and codes[0] == 5:
            style["fg" if code == 38 else "bg"] = indexed(codes[1])
            del codes[:2]
        elif code in (39, 49):
            style.pop("fg" if code == 39 else "bg", None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style["fg"] = (BASE if code < 90 else BRIGHT)[code % 10]
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style["bg"] = (BASE if code < 100 else BRIGHT)[code % 10]


def css(style):
    fg, bg = style.get("fg", "#d5d8d6"), style.get("bg")
    if style.get("reverse"):
        fg, bg = bg or "#1d1f21", fg
    out = f"color:{fg}"
    out += f";background:{bg}" if bg else ""
    out += ";font-weight:bold" if style.get("bold") else ""
    out += ";text-decoration:underline" if style.get("under") else ""
    out += ";opacity:.65" if style.get("dim") else ""
    return out


lines = sys.stdin.read().split("\n")
while lines and not lines[-1]:
    lines.pop()
cells, columns = [], 0
style = {}
for y, line in enumerate(lines):
    x = 0
    for escape, text in re.findall(r"\x1b\[([0-9;]*)m|([^\x1b])", line):
        if not text:
            apply(style, escape)
            continue
        wide = 2 if unicodedata.east_asian_width(text) in "WF" else 1
        if text != " " or style.get("bg") or style.get("reverse"):
            place = f"left:{x * WIDTH:.2f}px;top:{y * HEIGHT}px;width:{wide * WIDTH + 0.3:.2f}px"
            cells.append(f'<i style="{place};{css(style)}">{html.escape(text)}</i>')
        x += wide
    columns = max(columns, x)
size = f"{round(columns * WIDTH) + 24},{len(lines) * HEIGHT + 24}"
print(
    f'<!doctype html><meta charset="utf-8"><body data-size="{size}" style="margin:12px;background:#1d1f21"><style>'
    f"div{{position:relative}}i{{position:absolute;height:{HEIGHT}px;font:14px/{HEIGHT}px 'DejaVu Sans Mono',monospace;"
    f"white-space:pre;font-style:normal}}</style><div>{''.join(cells)}</div>"
)
