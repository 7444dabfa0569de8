#!/usr/bin/env bash
# Chromium for the report's tests: Debian's package, as root, where there is none. Without it those
# tests are skipped.
set -uo pipefail
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 && exit 0
fi
echo "no Chromium here: the report's tests in a browser will be skipped" >&2
