# `make run` and `make test` are all a newcomer needs; each installs what is missing first and skips what is done.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run demo dev test fmt lint loom e2e grpc bench live fuzz dist setup setup-test setup-bench site fmt-check rust loom-ci browser

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
# One set of features and one profile for whatever needs the whole workspace, so dependencies compile once.
FUSEBOARD := $(abspath $(TARGET_DIR))/debug/fuseboard
# Where grpcio is installed, apart from whatever Python the machine has.
GRPCIO := $(abspath $(TARGET_DIR))/grpcio
# A year of history, some gigabytes; made for `make bench` and deleted after it.
YEAR := $(abspath $(TARGET_DIR))/year.db
ARGS ?=

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "make %-6s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: setup site ## serve fuseboard.toml, or ARGS="--upstream NAME=URL"; without either the demo
	@cargo build --package fuseboard
	@if [ -n '$(ARGS)' ]; then exec "$(FUSEBOARD)" serve $(ARGS); \
	elif [ -f fuseboard.toml ]; then exec "$(FUSEBOARD)" serve --config fuseboard.toml; \
	else exec "$(FUSEBOARD)" demo; fi

demo: setup site ## local upstreams that fail on a schedule: every state within two minutes
	@cargo build --package fuseboard
	@exec "$(FUSEBOARD)" demo $(ARGS)

dev: setup ## serve, and rebuild and restart on every change
	@cargo xtask dev $(ARGS)

test: setup-test ## every check there is, and one summary
	@cargo xtask checks fmt-check lint site rust loom-ci browser

fmt: ## format the sources
	@cargo fmt --all

# The breaker is linted as others depend on it, too: alone and with each feature. With all of them it is the workspace's.
lint: ## clippy with warnings denied, for the server and for the board in the browser
	@cargo clippy --workspace --all-targets --locked -- -D warnings
	@cargo clippy --package fuseboard-breaker --lib --locked -- -D warnings
	@cargo clippy --package fuseboard-breaker --lib --locked --features tower -- -D warnings
	@cargo clippy --package fuseboard-app --lib --locked --no-default-features --features hydrate -- -D warnings

loom: ## model-check the breaker's cell without a bound
	@$(LOOM)

e2e: setup-test site ## end-to-end tests in Chromium; ARGS go to Playwright
	@cargo build --package fuseboard
	@$(MAKE) --no-print-directory browser

grpc: setup site ## gRPC through the gateway with grpcio, a client and server from PyPI
	@xtask/setup.sh grpc "$(GRPCIO)"
	@cargo build --package fuseboard
	@"$(GRPCIO)/bin/python" end2end/grpc/through_the_gateway.py "$(FUSEBOARD)"

bench: setup setup-test setup-bench site ## breaker and gateway beside their peers, restarts, recording, a year of history, the panel in a browser
	@cargo bench --package fuseboard-breaker --features grpc
	@cargo bench --package fuseboard --bench recording -- 60
	@cargo build --release --package fuseboard
	@rm -f "$(YEAR)"*
	@cargo xtask seed-history "$(YEAR)"
	@node end2end/year.mjs "$(abspath $(TARGET_DIR))/release/fuseboard" "$(YEAR)"
	@cargo bench --package fuseboard --bench history -- "$(YEAR)"
	@rm -f "$(YEAR)"*
	@end2end/restart.sh "$(abspath $(TARGET_DIR))/release/fuseboard"
	@end2end/load.sh "$(abspath $(TARGET_DIR))/release/fuseboard"
	@node end2end/measure.mjs "$(abspath $(TARGET_DIR))/release/fuseboard"

live: setup site ## real npm, pip and cargo through the gateway, then with the upstream cut
	@cargo build --package fuseboard
	@end2end/live.sh "$(FUSEBOARD)"

fuzz: setup ## the API under schemathesis, against a running server
	@cargo build --package fuseboard
	@end2end/fuzz.sh "$(FUSEBOARD)" "$(TARGET_DIR)"

dist: setup site ## the release as one file, dist/fuseboard
	@cargo build --release --locked --package fuseboard
	@install -m 755 "$(TARGET_DIR)/release/fuseboard" dist/fuseboard
	@ls -l dist/fuseboard

# What the targets above are made of.

setup:
	@xtask/setup.sh build

setup-test:
	@xtask/setup.sh test

setup-bench:
	@xtask/setup.sh bench

site:
	@cargo xtask site

fmt-check:
	@cargo fmt --all --check

# Builds the server for the browser tests along the way.
rust:
	@cargo test --workspace --locked --no-fail-fast

# Its own target directory: the flag would rebuild everything else.
LOOM = RUSTFLAGS="--cfg fuseboard_loom" CARGO_TARGET_DIR="$(abspath $(TARGET_DIR))/loom" \
	cargo test --package fuseboard-breaker --release --locked --test loom

loom-ci:
	@LOOM_MAX_PREEMPTIONS=2 $(LOOM)

browser:
	@cd end2end && npx tsc && FUSEBOARD_BIN="$(FUSEBOARD)" npx playwright test $(ARGS)
