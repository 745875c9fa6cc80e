#!/bin/sh
# Installs the crawlers that the benchmark compares with; Debian, Python and Cargo are there.
set -eu
apt-get install -y wget2
python3 -m venv "$HOME/.local/share/scrapy"
"$HOME/.local/share/scrapy/bin/pip" install scrapy
ln -sf "$HOME/.local/share/scrapy/bin/scrapy" /usr/local/bin/scrapy
cargo install spider_cli
