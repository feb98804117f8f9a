#!/usr/bin/env bash
# The gateway under load beside nginx's proxy_pass, on loopback alone: load.sh FUSEBOARD. Ends by itself in about three
# minutes; prints the lines of the table in docs/performance.md.
set -euo pipefail

fuseboard=$(realpath "$1")
workers=${WORKERS:-2}
seconds=${SECONDS_EACH:-8}
rounds=${ROUNDS:-5}
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
read -r host proxy gateway admin <<<"$(ports 4)"

mkdir -p "$folder/files" "$folder/tmp"
head -c 1000 /dev/urandom >"$folder/files/1kB"
head -c 100000000 /dev/urandom >"$folder/files/100MB"

nginx_conf() { # name, workers, body of the server block
  local user=""
  # Root's workers would be nobody, who may not read the folder.
  [ "$(id -u)" -ne 0 ] || user="user root;"
  cat >"$folder/$1.conf" <<CONF
$user
worker_processes $2;
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
  $3
}
CONF
  /usr/sbin/nginx -c "$folder/$1.conf" -p "$folder" &
  pids+=($!)
}
nginx_conf host "$workers" "server { listen 127.0.0.1:$host; root $folder/files; }"
nginx_conf proxy "$workers" "upstream host { server 127.0.0.1:$host; keepalive 64; }
  server { listen 127.0.0.1:$proxy; location / {
    proxy_pass http://host; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_max_temp_file_size 0; } }"

(
  cd "$folder"
  TOKIO_WORKER_THREADS=$workers RUST_LOG=warn exec "$fuseboard" serve --upstream "host=http://127.0.0.1:$host" \
    --gateway "127.0.0.1:$gateway" --admin "127.0.0.1:$admin" --store "sqlite:$folder/load.db" >"$folder/fuseboard.log" 2>&1
) &
pids+=($!)

direct="http://127.0.0.1:$host" through="http://127.0.0.1:$gateway/host" beside="http://127.0.0.1:$proxy"
for url in "$direct" "$beside" "$through"; do
  curl --silent --show-error --fail --output /dev/null --retry 50 --retry-connrefused --retry-delay 1 --retry-max-time 20 "$url/1kB" ||
    { cat "$folder"/*.log >&2; exit 1; }
done

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
requests() { wrk -t2 -c64 -d"${seconds}s" "$1/1kB" | awk '/Requests\/sec/ { print $2 } /Non-2xx/ { exit 1 }'; }
megabytes() { curl --silent --fail --output /dev/null --write-out '%{speed_download}\n' "$1/100MB" | awk '{ print $1 / 1e6 }'; }
# 1,000 requests a second, ten connections.
p99() { hey -z "${seconds}s" -c 10 -q 100 "$1/1kB" | awk '/99%% in|99% in/ { print $3 * 1000 }'; }

echo "$(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2-), $(nproc) cores, $workers workers, median of $rounds"
printf '%-34s %12s %12s %12s\n' what fuseboard nginx direct
for what in requests megabytes p99; do
  : >"$folder/a"; : >"$folder/b"; : >"$folder/c"
  # Turn by turn, so that a noisy minute meets all three.
  for _ in $(seq "$rounds"); do
    "$what" "$through" >>"$folder/a"; "$what" "$beside" >>"$folder/b"; "$what" "$direct" >>"$folder/c"
  done
  case $what in
    requests) name="1 kB GET, 64 connections, 1/s" ;;
    megabytes) name="100 MB body, MB/s" ;;
    p99) name="p99 at 1,000/s, ms" ;;
  esac
  printf '%-34s %12s %12s %12s\n' "$name" "$(median <"$folder/a")" "$(median <"$folder/b")" "$(median <"$folder/c")"
done
