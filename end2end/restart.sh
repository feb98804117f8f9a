#!/usr/bin/env bash
# The gateway under load while its upstream restarts ten times, on loopback alone: restart.sh FUSEBOARD. First in good
# order: a new process takes over the port, the old one ends its connections when they are idle. Nothing may be seen of
# that. Then by kill -9: what fails then is the host's failure, but no client may hang and no answer may be wrong.
source "$(dirname "${BASH_SOURCE[0]}")/stand.sh"

fuseboard=$(realpath "$1")
read -r host gateway_port admin <<<"$(ports 3)"
cat >"$folder/fuseboard.toml" <<CONF
[gateway]
listen = "127.0.0.1:$gateway_port"
[admin]
listen = "127.0.0.1:$admin"
[policy.registry]
wait = { first = "200ms", factor = 2.0, max = "1s" }
[[upstream]]
name = "host"
url = "http://127.0.0.1:$host"
CONF
serve="server { listen 127.0.0.1:$host; root $folder/files; }"
nginx host "$serve"
nginx_pid=${pids[-1]}
gateway "$fuseboard" --config "$folder/fuseboard.toml"
url="http://127.0.0.1:$gateway_port/host/1kB"
up "$url"

cat >"$folder/check.lua" <<'LUA'
local threads = {}
function setup(thread) table.insert(threads, thread) end
function init(args)
  good, wrong, ours, foreign = 0, 0, 0, 0
  expected = io.open(args[1], "rb"):read("*a")
end
function response(status, headers, body)
  if status == 200 then
    if body == expected then good = good + 1 else wrong = wrong + 1 end
  elseif (headers["content-type"] or headers["Content-Type"]) == "application/problem+json" then ours = ours + 1
  else foreign = foreign + 1 end
end
function done(summary)
  local all = { good = 0, wrong = 0, ours = 0, foreign = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(all) do all[name] = all[name] + thread:get(name) end
  end
  local cut = summary.errors.connect + summary.errors.read + summary.errors.write
  print(string.format("result good=%d wrong=%d ours=%d foreign=%d cut=%d hung=%d",
    all.good, all.wrong, all.ours, all.foreign, cut, summary.errors.timeout))
end
LUA

# How often the one breaker opened, and how many calls failed. (At the end wrk leaves in the midst of its calls, which are
# ignored and not counted here.)
counts() { curl --silent --fail "http://127.0.0.1:$admin/api/v1/breakers/http:127.0.0.1:$host" |
  python3 -c 'import json, sys; breaker = json.load(sys.stdin); print(breaker["opens"], breaker["counts"]["failure"])'; }

under_load() { # name, command that restarts the host once
  local before after line
  before=$(counts)
  wrk -t2 -c64 -d20s --timeout 10s -s "$folder/check.lua" "$url" -- "$folder/files/1kB" >"$folder/$1.wrk" &
  local load=$!
  sleep 2
  for _ in $(seq 10); do "$2"; sleep 1.5; done
  wait "$load"
  after=$(counts)
  line=$(grep '^result' "$folder/$1.wrk") || { cat "$folder/$1.wrk" >&2; exit 1; }
  echo "$1: ${line#result }; opened and failures: $before -> $after"
  declare -A got=()
  for pair in ${line#result }; do got[${pair%%=*}]=${pair#*=}; done
  [ "${got[hung]}" -eq 0 ] || { echo "a client hung" >&2; exit 1; }
  [ "${got[wrong]}" -eq 0 ] && [ "${got[foreign]}" -eq 0 ] || { echo "a wrong answer" >&2; exit 1; }
  [ "${got[good]}" -gt 1000 ] || { echo "hardly anything was answered" >&2; exit 1; }
  if [ "$1" = "in good order" ]; then
    [ "${got[ours]}" -eq 0 ] && [ "${got[cut]}" -eq 0 ] && [ "$before" = "$after" ] ||
      { echo "a restart in good order was seen" >&2; exit 1; }
  fi
}

reload() { kill -HUP "$nginx_pid"; }
kill_hard() {
  local workers_of_it
  workers_of_it=$(ps -o pid= --ppid "$nginx_pid")
  # Its workers first die with it, or the port stays taken.
  kill -9 "$nginx_pid" $workers_of_it
  wait "$nginx_pid" 2>/dev/null || true
  sleep 0.3
  nginx host "$serve"
  nginx_pid=${pids[-1]}
}

echo "$(machine), 64 connections, ten restarts each"
under_load "in good order" reload
under_load "by kill -9" kill_hard
up "$url"
sleep 1.5
curl --silent --fail "$url" | cmp - "$folder/files/1kB" && echo "afterwards: the host is called again"
