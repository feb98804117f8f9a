#!/usr/bin/env bash
# The API under schemathesis, against a server with something in every table: fuzz.sh FUSEBOARD TARGET_DIR. No answer may
# be a 500, a status the description does not name or a body that is not as it says. The tool is installed under TARGET_DIR.
set -euo pipefail

fuseboard=$(realpath "$1")
mkdir -p "$2"
tools=$(realpath "$2")/schemathesis
version=4.32.5
seconds=${SECONDS_EACH:-60}
folder=$(mktemp -d)
pids=()
# Only what was started here is ended.
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

if [ "$(cat "$tools/.version" 2>/dev/null)" != "$version" ]; then
  echo "setup: installing schemathesis $version under $tools"
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
  echo "$version" >"$tools/.version"
fi

# A host that answers, and one that refuses.
python3 -u -m http.server --bind 127.0.0.1 --directory "$folder" 0 >"$folder/host.log" 2>&1 &
pids+=($!)
until port=$(grep -o 'port [0-9]*' "$folder/host.log" | cut -d' ' -f2) && [ -n "$port" ]; do kill -0 "${pids[0]}"; done
cat >"$folder/fuseboard.toml" <<CONF
[policy.quick]
trip = [{ failures = 5, within = "1m" }]
wait = { first = "1s", max = "2s" }
[[upstream]]
name = "alive"
url = "http://127.0.0.1:$port"
policy = "quick"
[[upstream]]
name = "dead"
url = "http://127.0.0.1:1"
policy = "quick"
[[upstream]]
name = "quiet"
url = "https://registry.example"
CONF
cd "$folder"
"$fuseboard" serve --gateway 127.0.0.1:0 --admin 127.0.0.1:0 --log warn >"$folder/said" 2>"$folder/log" &
pids+=($!)
address() { sed -n "s|^$1  *http://||p" "$folder/said"; }
until [ -n "$(address board)" ]; do kill -0 "${pids[1]}"; done
board=http://$(address board) gateway=http://$(address gateway)

for _ in 1 2 3 4 5 6 7; do curl -s -o /dev/null "$gateway/dead/x"; curl -s -o /dev/null "$gateway/alive/"; done
act() { curl -sS --fail-with-body -o "$folder/answer" -X "$1" -H 'content-type: application/json' -d "$3" "$board/api/v1$2" || { cat "$folder/answer"; exit 1; }; }
act POST "/breakers/http:127.0.0.1:1/probe" '{"by":"ana"}'
act PUT "/breakers/https:registry.example/override" '{"mode":"forced_open","reason":"CDN move","for_ms":600000,"by":"ana"}'
act POST "/actions" '{"action":"force_closed","filter":{"q":"alive"},"reason":"we need it","until":null}'
act POST "/actions" '{"action":"release","filter":{"q":"alive"},"reason":"done"}'
act POST /reload '{}'

# The feed does not end, so nothing can be made of its answer here.
"$tools/bin/schemathesis" run "$board/openapi.json" --exclude-path /api/v1/events \
  --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method \
  --max-time "$seconds" --workers 2 --no-color ${ARGS:-} || { status=$?; tail -50 "$folder/log"; exit "$status"; }
if grep -q 'unexpected:' "$folder/log"; then cat "$folder/log"; exit 1; fi
