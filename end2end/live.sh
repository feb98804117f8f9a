#!/usr/bin/env bash
# Real npm, pip and cargo through the gateway, against the registries they are configured for: live.sh FUSEBOARD. First
# with everything up, metadata and files; then held open by an operator; then with nobody at the other end. A client that
# is not there, or whose registry does not answer, is skipped and named. No host's name is printed.
set -euo pipefail

fuseboard=$(realpath "$1")
folder=$(mktemp -d)
pids=()
# Only what was started here is ended.
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

fail() { echo "live: $*" >&2; exit 1; }
ports() { node -e '
const net = require("node:net");
const servers = Array.from({ length: Number(process.argv[1]) }, () => net.createServer().listen(0, "127.0.0.1"));
setTimeout(() => { console.log(servers.map((server) => server.address().port).join(" ")); process.exit(); }, 50);' "$1"; }
read -r gateway admin gateway2 admin2 nobody <<<"$(ports 5)"

origin() { node -e 'console.log(new URL(process.argv[1]).origin)' "$1"; }
# The origins of the links a JSON document holds under a key, however deep.
origins() { node -e '
const found = new Set();
const walk = (value, key) => {
  if (value && typeof value === "object") for (const [name, inner] of Object.entries(value)) walk(inner, Array.isArray(value) ? key : name);
  else if (key === process.argv[1]) try { found.add(new URL(value).origin); } catch {}
};
walk(JSON.parse(require("node:fs").readFileSync(0, "utf8")));
console.log([...found].join("\n"));' "$1"; }

# What the clients are configured for. Each is asked itself.
npm_registry() { npm config get registry; }
pip_index() { # pip names it while it looks for something
  (cd "$folder" && python3 -m pip download -vv --no-cache-dir --no-deps -d "$folder/found" idna) 2>/dev/null |
    sed -n 's/^ *Found index url //p' | head -n1
}
cargo_index() { # cargo names it while it fetches with nothing cached
  local home=$folder/found-cargo own=${CARGO_HOME:-$HOME/.cargo}
  mkdir -p "$home"
  for file in config.toml config; do [ ! -f "$own/$file" ] || cp "$own/$file" "$home/"; done
  crate "$folder/found-crate"
  (cd "$folder/found-crate" && CARGO_HOME=$home CARGO_LOG=network=debug cargo fetch) 2>&1 |
    sed -n 's#.* network: fetch \(http.*/\)config\.json$#\1#p' | head -n1
}
crate() {
  mkdir -p "$1/src"
  : >"$1/src/lib.rs"
  printf '[package]\nname = "live"\nversion = "0.1.0"\nedition = "2021"\n\n[dependencies]\nitoa = "1"\n\n[workspace]\n' >"$1/Cargo.toml"
}

# Where the files are, beside the registry itself.
npm_files() { curl -fsS -m 60 -H 'accept: application/json' "$1/is-odd" | origins tarball; }
pip_files() { curl -fsS -m 60 -H 'accept: application/vnd.pypi.simple.v1+json' "$1/idna/" | origins url; }
cargo_files() { curl -fsS -m 60 "$1/config.json" | origins dl; }

clients=()
: >"$folder/live.toml"
: >"$folder/dead.toml"
: >"$folder/names.sed"
for client in npm pip cargo; do
  command -v "${client/pip/python3}" >/dev/null || { echo "$client: skipped, it is not installed"; continue; }
  case $client in
    npm) url=$(npm_registry || true) ;;
    pip) url=$(pip_index || true) ;;
    cargo) url=$(cargo_index || true) ;;
  esac
  url=${url%/}
  if [ -z "$url" ] || [ "$url" = undefined ]; then echo "$client: skipped, no registry is configured for it"; continue; fi
  if ! files=$("${client}_files" "$url" 2>/dev/null); then echo "$client: skipped, its registry does not answer"; continue; fi
  own=$(origin "$url")
  # What is below its own address is its own; the rest of its host is listed like any other.
  rewrite=$(for one in $files; do [ "$one" = "$url" ] || printf '"%s", ' "$one"; done)
  upstream() { # url, rewrite
    local preset=${client/pip/pypi}
    printf '[[upstream]]\nname = "%s"\nurl = "%s"\npreset = "%s"\nrewrite = [%s]\n' "$client" "$1" "$preset" "$2"
    # A registry that stands in this network.
    [ -z "${LIVE_ALLOW_PRIVATE:-}" ] || echo 'allow_private = true'
  }
  upstream "$url" "$rewrite" >>"$folder/live.toml"
  upstream "http://127.0.0.1:$nobody/$client" "" >>"$folder/dead.toml"
  number=0
  for one in $own $files; do
    number=$((number + 1))
    host=${one#*://}
    echo "s/${host//./[.]}/$client-host-$number.example/g" >>"$folder/names.sed"
  done
  clients+=("$client")
done
[ ${#clients[@]} -gt 0 ] || { echo "skipped: no client has a registry"; exit 0; }

serve() { # config, gateway, admin
  (cd "$folder" && RUST_LOG=warn exec "$fuseboard" serve --config "$folder/$1.toml" --gateway "127.0.0.1:$2" \
    --admin "127.0.0.1:$3" --store "sqlite:$folder/$1.db" >"$folder/$1.log" 2>&1) &
  pids+=($!)
  curl -fs -o /dev/null --retry 50 --retry-connrefused --retry-delay 1 --retry-max-time 30 "http://127.0.0.1:$3/livez" ||
    { sed -f "$folder/names.sed" "$folder/$1.log" >&2; exit 1; }
}
breakers() { curl -fsS "http://127.0.0.1:$1/api/v1/breakers" | node -e '
const { breakers } = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
for (const one of breakers) console.log([one.id, one.state, one.counts.success + one.counts.alive, one.counts.failure, one.counts.refused].join(" "));'; }

# Each client with nothing cached, and with no way past the gateway: whatever else it calls goes through a proxy that is
# not there. Their own retries are off, since what they wait for is not ours.
run() { # client, gateway
  local client=$1 through=http://127.0.0.1:$2 place
  place=$(mktemp -d -p "$folder")
  export HTTPS_PROXY=http://127.0.0.1:$nobody HTTP_PROXY=http://127.0.0.1:$nobody http_proxy=http://127.0.0.1:$nobody
  export https_proxy=$HTTPS_PROXY NO_PROXY=127.0.0.1 no_proxy=127.0.0.1
  cd "$place"
  case $client in
    npm)
      echo '{"name":"live","version":"1.0.0"}' >package.json
      npm install is-odd --registry "$through/npm/" --cache "$place/cache" --userconfig /dev/null --fetch-retries 0 \
        --no-audit --no-fund --no-update-notifier || return
      node -e '
        const lock = JSON.parse(require("node:fs").readFileSync("package-lock.json", "utf8"));
        const links = Object.values(lock.packages).map((one) => one.resolved).filter(Boolean);
        if (links.length < 2 || !links.every((link) => link.startsWith(process.argv[1]))) process.exit(9);
        console.log(`package-lock.json: ${links.length} files, all of the gateway, e.g. ${links[0]}`);
        require("./node_modules/is-odd");' "$through/" || return 9
      ;;
    pip)
      python3 -m pip --isolated download --no-cache-dir --retries 0 --no-deps -vv -d files idna \
        --index-url "$through/pip/" >log 2>&1 || { cat log; return 1; }
      ls files/idna-* >/dev/null || return 9
      grep -E '^ *Downloading ' log
      ! grep -E '^ *Downloading ' log | grep -qv "$through/" || return 9
      ;;
    cargo)
      crate .
      mkdir home
      printf '[source.crates-io]\nreplace-with = "gateway"\n[source.gateway]\nregistry = "sparse+%s/cargo/"\n' "$through" >home/config.toml
      CARGO_HOME=$place/home CARGO_NET_RETRY=0 cargo fetch || return
      ls home/registry/cache/*/itoa-*.crate || return 9
      ;;
  esac
}
# What of a client's output is worth showing, without anybody's name.
show() { sed -f "$folder/names.sed" "$1" | sed -e "s#$folder#.#g" | grep -E "$2" | cut -c1-220 | sed 's/^ */    /' | head -n "${3:-4}"; }

echo "== up: metadata and files"
serve live "$gateway" "$admin"
for client in "${clients[@]}"; do
  began=$SECONDS
  (run "$client" "$gateway") >"$folder/out" 2>&1 || { sed -f "$folder/names.sed" "$folder/out" >&2; fail "$client did not get its package"; }
  echo "  $client: got its package in $((SECONDS - began)) s"
  show "$folder/out" 'package-lock|added|Downloading|Saved|Downloaded|[.]crate$'
done
echo "  breakers: id, state, answered, failed, refused"
breakers "$admin" | sed -f "$folder/names.sed" | sed 's/^/    /'
# Each host, of metadata and of files, was called through its breaker.
idle=$(breakers "$admin" | awk '$3 == 0')
[ -z "$idle" ] || fail "a host was not called through the gateway: $(sed -f "$folder/names.sed" <<<"$idle")"

# It must end soon, and say what the gateway says.
cut_off() { # client, gateway, words
  local client=$1 began=$SECONDS words=$3
  if (run "$client" "$2") >"$folder/out" 2>&1; then fail "$client got its package from a host that is cut"; fi
  local took=$((SECONDS - began))
  [ "$took" -le 20 ] || fail "$client took $took s to give up"
  # pip keeps what a 503 says to itself; that it was one shows in its log.
  [ "$client" != pip ] || words='too many 503 error responses'
  grep -qE "$words" "$folder/out" || { sed -f "$folder/names.sed" "$folder/out" >&2; fail "$client does not say: $words"; }
  echo "  $client: gave up in $took s"
  show "$folder/out" "$words" 2
}

echo "== cut by an operator"
for id in $(breakers "$admin" | cut -d' ' -f1); do
  curl -fsS -o /dev/null -X PUT -H 'content-type: application/json' \
    -d '{"mode":"forced_open","reason":"the live run cuts it","for_ms":600000,"by":"live"}' \
    "http://127.0.0.1:$admin/api/v1/breakers/$id/override"
done
for client in "${clients[@]}"; do cut_off "$client" "$gateway" 'Held open by an operator|held open by an operator'; done

echo "== nobody at the other end"
serve dead "$gateway2" "$admin2"
for client in "${clients[@]}"; do
  for _ in 1 2 3 4 5; do curl -sS -o /dev/null "http://127.0.0.1:$gateway2/$client/x"; done
done
for client in "${clients[@]}"; do cut_off "$client" "$gateway2" 'The host is down|the host is down'; done
breakers "$admin2" | sed 's/^/    /'
echo "live: ${clients[*]} passed"
