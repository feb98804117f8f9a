# What the load scripts stand on: a folder that goes with them, free ports, an nginx that serves files, and the gateway
# before it. Sourced, not run.
set -euo pipefail

workers=${WORKERS:-2}
folder=$(mktemp -d)
pids=()
# Only what was started here is ended.
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap cleanup EXIT

ports() { python3 - "$1" <<'PY' 2>/dev/null || node -e '
const net = require("node:net");
const servers = Array.from({ length: Number(process.argv[1]) }, () => net.createServer().listen(0, "127.0.0.1"));
setTimeout(() => { console.log(servers.map((server) => server.address().port).join(" ")); process.exit(); }, 50);' "$1"
import socket, sys
held = [socket.create_server(("127.0.0.1", 0)) for _ in range(int(sys.argv[1]))]
print(*(s.getsockname()[1] for s in held))
PY
}

mkdir -p "$folder/files" "$folder/tmp"
head -c 1000 /dev/urandom >"$folder/files/1kB"

nginx() { # name, body of the http block
  local user=""
  # Root's workers would be nobody, who may not read the folder.
  [ "$(id -u)" -ne 0 ] || user="user root;"
  cat >"$folder/$1.conf" <<CONF
$user
worker_processes $workers;
daemon off;
pid $folder/$1.pid;
error_log $folder/$1.log;
events { worker_connections 1024; }
http {
  access_log off;
  sendfile on;
  keepalive_requests 100000000;
  client_body_temp_path $folder/tmp; proxy_temp_path $folder/tmp; fastcgi_temp_path $folder/tmp;
  uwsgi_temp_path $folder/tmp; scgi_temp_path $folder/tmp;
  $2
}
CONF
  /usr/sbin/nginx -c "$folder/$1.conf" -p "$folder" &
  pids+=($!)
}

gateway() { # FUSEBOARD, arguments of serve
  local fuseboard=$1
  shift
  (
    cd "$folder"
    TOKIO_WORKER_THREADS=$workers RUST_LOG=warn exec "$fuseboard" serve "$@" --store "sqlite:$folder/load.db" \
      >"$folder/fuseboard.log" 2>&1
  ) &
  pids+=($!)
}

up() { # URLs that must answer
  local url
  for url in "$@"; do
    curl --silent --show-error --fail --output /dev/null --retry 50 --retry-connrefused --retry-delay 1 --retry-max-time 20 \
      "$url" || { cat "$folder"/*.log >&2; exit 1; }
  done
}

# Resident memory of a process and its children, MB.
memory() { ps -o rss= --pid "$1" --ppid "$1" | awk '{ sum += $1 } END { printf "%.0f\n", sum / 1024 }'; }

machine() { echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2- | sed 's/^ *//'), $(nproc) cores, $workers workers"; }
