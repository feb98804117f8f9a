#!/usr/bin/env bash
# The gateway under load beside nginx's proxy_pass and, where setup.sh has put it, caddy's reverse_proxy, on loopback alone:
# load.sh FUSEBOARD. Ends by itself in a few minutes; prints the lines of the table in docs/performance.md.
source "$(dirname "${BASH_SOURCE[0]}")/stand.sh"

fuseboard=$(realpath "$1")
caddy=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../dist/bench")/caddy
seconds=${SECONDS_EACH:-8}
rounds=${ROUNDS:-5}
read -r host nginx_port gateway_port admin caddy_port <<<"$(ports 5)"
head -c 100000000 /dev/urandom >"$folder/files/100MB"

nginx host "server { listen 127.0.0.1:$host; root $folder/files; }"
nginx proxy "upstream host { server 127.0.0.1:$host; keepalive 64; }
  server { listen 127.0.0.1:$nginx_port; location / {
    proxy_pass http://host; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_max_temp_file_size 0; } }"
nginx_pid=${pids[-1]}
gateway "$fuseboard" --upstream "host=http://127.0.0.1:$host" --gateway "127.0.0.1:$gateway_port" --admin "127.0.0.1:$admin"
fuseboard_pid=${pids[-1]}

names=(fuseboard nginx caddy direct)
declare -A at=(
  [fuseboard]="http://127.0.0.1:$gateway_port/host" [nginx]="http://127.0.0.1:$nginx_port"
  [caddy]="http://127.0.0.1:$caddy_port" [direct]="http://127.0.0.1:$host"
)
if [ -x "$caddy" ]; then
  cat >"$folder/Caddyfile" <<CADDY
{
  admin off
  auto_https off
  log default {
    level ERROR
  }
}
http://127.0.0.1:$caddy_port {
  reverse_proxy 127.0.0.1:$host {
    transport http {
      keepalive_idle_conns_per_host 64
    }
  }
}
CADDY
  GOMAXPROCS=$workers XDG_DATA_HOME=$folder XDG_CONFIG_HOME=$folder "$caddy" run --config "$folder/Caddyfile" \
    >"$folder/caddy.log" 2>&1 &
  pids+=($!)
  caddy_pid=$!
else
  names=(fuseboard nginx direct)
fi
for name in "${names[@]}"; do up "${at[$name]}/1kB"; done

median() { sort -n | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }
requests() { wrk -t2 -c64 -d"${seconds}s" "$1/1kB" | awk '/Requests\/sec/ { print $2 } /Non-2xx/ { exit 1 }'; }
# Of the same load: what 99 of 100 requests took at most, in ms.
p99_full() { wrk -t2 -c64 -d"${seconds}s" --latency "$1/1kB" |
  awk '$1 == "99%" { v = $2 + 0; if ($2 ~ /us$/) v /= 1000; else if ($2 ~ /[0-9]s$/) v *= 1000; print v }'; }
megabytes() { curl --silent --fail --output /dev/null --write-out '%{speed_download}\n' "$1/100MB" | awk '{ print $1 / 1e6 }'; }
# 1,000 requests a second, ten connections.
p99() { hey -z "${seconds}s" -c 10 -q 100 "$1/1kB" | awk '/99%% in|99% in/ { print $3 * 1000 }'; }

row() { printf '%-36s' "$1"; shift; printf ' %12s' "$@"; printf '\n'; }

echo "$(machine), median of $rounds"
row what "${names[@]}"
for what in requests p99_full p99 megabytes; do
  case $what in
    requests) title="1 kB GET, 64 connections, 1/s" ;;
    p99_full) title="p99 of the same, ms" ;;
    p99) title="p99 at 1,000/s, ms" ;;
    megabytes) title="100 MB body, MB/s" ;;
  esac
  for name in "${names[@]}"; do : >"$folder/$name.figures"; done
  # Turn by turn, so that a noisy minute meets all of them.
  for _ in $(seq "$rounds"); do
    for name in "${names[@]}"; do "$what" "${at[$name]}" >>"$folder/$name.figures"; done
  done
  figures=()
  for name in "${names[@]}"; do figures+=("$(median <"$folder/$name.figures")"); done
  row "$title" "${figures[@]}"
done
held=("$(memory "$fuseboard_pid")" "$(memory "$nginx_pid")")
[ ${#names[@]} -lt 4 ] || held+=("$(memory "$caddy_pid")")
row "memory after all of it, MB" "${held[@]}"
