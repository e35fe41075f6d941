#!/bin/sh
# Fetches what reads exports back: OpenTelemetry's protobuf and DuckDB (PyPI), Mermaid (npm). Into .export-tools, once;
# what cannot be had is said, and the tests that need it say so too.
set -u
cd "$(dirname "$0")/../.."
dir=.export-tools
mkdir -p "$dir"
if [ ! -x "$dir/venv/bin/python" ]; then
    python3 -m venv "$dir/venv" || rm -rf "$dir/venv"
fi
for package in opentelemetry-proto==1.45.2 duckdb==2.0.1; do
    name=${package%%==*}
    if [ ! -e "$dir/$name" ]; then
        "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "$package" >/dev/null 2>&1 && touch "$dir/$name" ||
            echo "export: $name cannot be installed"
    fi
done
if [ ! -e "$dir/mermaid.min.js" ]; then
    (cd "$dir" && npm pack --silent mermaid@12.3.0 >/dev/null 2>&1 && tar xzf mermaid-12.3.0.tgz package/dist/mermaid.min.js &&
        mv package/dist/mermaid.min.js . && rm -rf package mermaid-12.3.0.tgz) || echo "export: mermaid cannot be fetched"
fi
exit 0
