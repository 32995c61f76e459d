# The only list of commands: `make` prints it. Each target is something you could type.

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
EXAMPLE := functions/local/examples/month-end.json

.PHONY: help run check test bench-recurrence bench-store dist

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## build the binary, show the next occurrences of an example, say what to try next
	cargo build -p local --locked
	$(TARGET_DIR)/debug/minutehand preview $(EXAMPLE)
	@echo
	@echo 'Try next:'
	@echo '  $(TARGET_DIR)/debug/minutehand preview $(EXAMPLE) --json'
	@echo '  $(TARGET_DIR)/debug/minutehand preview $(EXAMPLE) --from 2028-02-01T00:00:00Z --count 3'
	@echo "  echo '{\"recurrence\":{\"frequency\":\"hour\",\"interval\":6}}' | $(TARGET_DIR)/debug/minutehand preview -"

check: ## formatting, lints, documentation, licences and sources of dependencies
	@.ci/timed fmt cargo fmt --all --check
	@.ci/timed clippy cargo clippy --workspace --all-targets --locked -- -D warnings
	@RUSTDOCFLAGS="-D warnings" .ci/timed doc cargo doc --no-deps --workspace --locked
	@if command -v cargo-deny >/dev/null; then \
		.ci/timed deny cargo deny --locked check --hide-inclusion-graph bans licenses sources; \
	else \
		echo '== deny: skipped, cargo-deny is not installed'; \
	fi

# nextest runs no documentation tests, cargo does.
test: ## every test, the examples in the documentation included
	@if command -v cargo-nextest >/dev/null; then \
		.ci/timed tests cargo nextest run --workspace --locked && \
		.ci/timed doctests cargo test --doc --workspace --locked; \
	else \
		.ci/timed tests cargo test --workspace --locked; \
	fi

bench-recurrence: ## time the recurrence engine, beside others
	cargo bench -p recurrence --bench next --locked

bench-store: ## time the embedded store, beside HTTP over loopback, and the embedded queue
	cargo bench -p embedded --bench store --locked
	cargo bench -p embedded --bench queue --locked

dist: ## the binary as it is released: optimised, stripped
	cargo build --release -p local --locked
	@wc -c $(TARGET_DIR)/release/minutehand | awk '{ printf "%s: %.1f MB\n", $$2, $$1 / 1000000 }'
