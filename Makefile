# The only list of commands: `make` prints it. Each target is something you could type.

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)

# `make run`: where it listens, and where it keeps things.
LISTEN ?= 127.0.0.1:7070
DATA ?= $(CURDIR)/.minutehand

# `make install`: below which directory, and which one stands for the root.
PREFIX ?= /usr/local
DESTDIR ?=

# `make build` and `make deploy`: what the functions run on, and the stack with its parameters.
ARCHITECTURE ?= arm64
STACK ?= minutehand
PARAMETERS ?=
# The tags of everything that a deployment creates.
TAGS ?= app=minutehand
# Another template, such as a changed copy. Paths of packages in it are relative to its folder.
TEMPLATE ?= infra/template.yaml
# Where sam puts what it deploys: two deployments at a time need two places.
SAM_BUILD ?= target/sam
# `BUILD_PROFILE=e2e` builds all functions with that profile: much sooner, but larger and slower to start.
BUILD_PROFILE ?=
# `BUILT=target/debug` packs the functions that are there already; they have to be of this ARCHITECTURE.
BUILT ?=
# The name of a deployment. The random part keeps it different from a deployment in the same second.
RELEASE = $(shell date -u +%Y-%m-%dT%H:%M:%SZ)-$(shell od -An -N8 -tx8 /dev/urandom | tr -d ' ')
# Where sam, cargo-lambda and zig are, once they are installed.
TOOLS := $(CURDIR)/target/clients/aws/bin

FUNCTIONS := api sweeper executor archiver

# What `make dist` builds, and the targets after it take.
BINARY := $(TARGET_DIR)/dist/minutehand

.PHONY: help tools run fmt check style test test-rust test-others test-console docs mutants convert archive e2e monitoring ci nightly simulate judge exhaustive prove endurance chaos vacuum copies bench soak peers bench-recurrence bench-aws bench-console wall-watch build console screenshots size dist install uninstall packages packages-test packages-join sbom release-notes publish image image-test deploy deploy-cdk doctor functions local-lambda rewind smoke gameday

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

tools: ## install what `make check` and `make test` need: Rust's components, Debian's packages (with sudo)
	@.ci/tools

CLIENT := $(TARGET_DIR)/quick/minutehand
SERVER := $(if $(filter 127.0.0.1:7070,$(LISTEN)),, --server http://$(LISTEN))

define CALLS

Once it says where it listens, paste these into another terminal, in this directory:

  $(CLIENT) job create hello --every 1m --url https://example.com/$(SERVER)
  $(CLIENT) job run hello --wait$(SERVER)
  $(CLIENT) job history hello$(SERVER)

endef
export CALLS

run: ## build the binary and serve with it; prints commands to try; Ctrl-C ends it
	@echo 'building the server: under two minutes on two cores the first time, then what has changed'
	cargo build --profile quick -p minutehand --locked
	@echo "$$CALLS"
	@exec $(CLIENT) serve --listen $(LISTEN) --data '$(DATA)'

fmt: ## format the Rust code, and the console's sources if `make console` has run
	cargo fmt --all
	@if [ -d shared/console/web/node_modules ]; then cd shared/console/web && npm run --silent format; fi

check: style ## formatting, lints, documentation, licences and sources of dependencies, the console's sources, the CDK app, workflows
	@.ci/timed clippy cargo clippy --workspace --all-targets --locked -- -D warnings
	@RUSTDOCFLAGS="-D warnings" .ci/timed doc cargo doc --no-deps --workspace --locked

style: ## the part of `make check` that compiles nothing
	@.ci/timed fmt cargo fmt --all --check
	@.ci/timed cdk infra/cdk/check
	@.ci/timed lint .ci/lint/run
	@.ci/timed zones .ci/zones

# nextest runs no documentation tests, cargo does. The clients call the binary that the tests built: a
# build of it alone would choose other features of what it stands on, and compile that once more.
test: test-rust test-others test-console ## every test: the examples in the documentation, the official Azure clients, real queues, the console, the examples

test-rust: ## the part of `make test` in Rust
	@if command -v cargo-nextest >/dev/null; then \
		.ci/timed tests cargo nextest run --workspace --locked && \
		.ci/timed doctests cargo test --doc --workspace --locked; \
	else \
		.ci/timed tests cargo test --workspace --locked; \
	fi

test-others: ## the part with clients, queues and examples, of the binary that is built
	@.ci/timed clients tests/clients/run
	@tests/actions/run
	@.ci/timed examples tests/examples/run

test-console: ## the part in a browser, of the binary that is built
	@tests/console/run

docs: ## the words of each document and who links to it; its links, tables, commands and bodies, tried
	@cargo test --workspace --locked --test it readme:: -- --nocapture
	@cargo test --workspace --locked --test serve documented::
	@cargo test --workspace --locked --test documents

FILTER ?=
mutants: ## faults applied one by one, each of which a fast test has to find; FILTER='a name or file' for some
	@tests/mutants/run $(if $(FILTER),'$(FILTER)')

PARTS ?=
e2e: ## the stack of infra/ on an AWS in one process: built, deployed, called, fired; with BUILT as `make build`, PARTS=cdk for some
	@BUILT='$(abspath $(BUILT))' .ci/timed '$(strip e2e $(PARTS))' tests/e2e/run $(PARTS)

convert: ## crontabs of Debian's packages, schedules of boto3, a template of the CDK: converted to jobs
	@.ci/timed convert tests/convert/run

archive: ## the queries of the archive's page with DuckDB, and archives and exports in buckets of two emulators
	@.ci/timed archive tests/archive/run

monitoring: ## the alerts and the dashboard of infra/monitoring, with Debian's Prometheus
	@.ci/timed monitoring tests/monitoring/run

ci: ## everything a change has to pass, as on the servers that check it; says what it skipped
	@.ci/run

nightly: ## what is too long for every change: mutations, `make check`, judges, ten million actions, the large scope, copies, chaos, endurance, the API's description
	@.ci/timed mutations cargo test -p minutehand-proofs --profile e2e --locked -- \
		--ignored --nocapture simulation::every_mutation
	@.ci/timed local-lambda tests/e2e/watch --check
	@$(MAKE) --no-print-directory check judge prove exhaustive copies chaos endurance
	@.ci/timed openapi tests/clients/run openapi

simulate: ## play the services in simulated time on every core until stopped; SEED=7 plays one run and prints it
	@cargo test -p minutehand-proofs --profile e2e --locked -- --ignored --exact --nocapture simulation::until_stopped

judge: ## two independent judges on 2,000 simulated runs and on every mutation; they have to agree
	@cargo test -p minutehand-proofs --profile e2e --locked -- --ignored --nocapture simulation::second simulation::calendar

exhaustive: ## every order of steps of two workers on two occurrences, with one of each mishap; and without each condition
	@cargo test -p minutehand-proofs --profile e2e --locked -- --ignored --nocapture exhaustive

# Stopped and started again, it goes on where it was.
PROOF ?= $(abspath $(TARGET_DIR))/proof.json
prove: ## ten million simulated actions with faults, on every core; goes on where it was stopped
	@STATE='$(PROOF)' \
		cargo test -p minutehand-proofs --profile e2e --locked -- --ignored --exact --nocapture simulation::ten_million_actions

endurance: ## the binary for an hour of real time: killed, frozen, out of disk space; each call judged
	cargo build --workspace --locked
	tests/endurance/run --binary $(TARGET_DIR)/debug/minutehand

MINUTES ?= 5
vacuum: MINUTES = 30
KILL_EVERY ?= 15-40
chaos: ## three processes on one PostgreSQL for MINUTES=5, killed and frozen while the database crashes; each call judged; then how soon others go on
	cargo build -p minutehand --locked
	tests/chaos/run --minutes $(MINUTES) --kill-every $(KILL_EVERY) --binary $(TARGET_DIR)/debug/minutehand
	tests/chaos/recovery --binary $(TARGET_DIR)/debug/minutehand

vacuum: ## 200 firings a second on PostgreSQL beside a transaction that stays open, for MINUTES=30; tables shrink again
	cargo build -p minutehand --profile e2e --locked
	tests/vacuum/run --minutes $(MINUTES) --binary $(TARGET_DIR)/e2e/minutehand

copies: ## the directory of a running server, copied with cp, tar and rsync in any order: refused, or complete
	cargo build -p minutehand --locked
	tests/copies/run --binary $(TARGET_DIR)/debug/minutehand

console: ## build the console's files of its sources; `cargo build` takes them as they are committed
	cd shared/console/web && npm ci --no-audit --no-fund --loglevel=error && npm run --silent check && npm run --silent build

screenshots: ## pictures of the console, of a server with jobs, in target/screenshots
	cargo build -p minutehand --locked
	tests/console/run --shots target/screenshots

wall-watch: ## the wall for ten minutes beside a server that fails, recovers, starves and is killed
	@tests/console/run --watch 10

bench-console: ## the console with 50,000 jobs, beside its budget
	cargo build -p minutehand --locked
	tests/console/run --bench

# Built as `e2e` is: optimised nearly as a release, in a tenth of its time.
bench: ## firing, the API, units and sweeps in one table; `make peers` compares
	cargo bench -p minutehand --bench fire --profile e2e --locked

# OPTIONS is that of the targets of a stack: `--peer bullmq --scenario instant`, or `--short`.
peers: ## Minutehand beside pg-boss, graphile-worker, BullMQ and others on the same jobs; OPTIONS=--short to try it
	cargo build -p minutehand --profile e2e --locked
	tests/peers/run $(OPTIONS)

soak: ## fifty firings a second for half an hour: memory, files and lateness, minute by minute
	BENCH_ONLY=soak cargo bench -p minutehand --bench fire --profile e2e --locked

bench-recurrence: ## time the recurrence engine, beside others
	cargo bench -p minutehand-recurrence --bench next --locked

# Built together with the archiver, the others would get the features that it needs of common crates.
functions: ## the functions as they are released, for this machine, in target/functions
	cargo build --profile functions --locked -p minutehand-sweeper -p minutehand-executor --bins --examples
	cargo build --profile functions --locked -p minutehand-archiver --bins
	cargo build --profile api-function --locked -p minutehand-api --bins
	cp '$(TARGET_DIR)/api-function/api' '$(TARGET_DIR)/functions/api'

# What stands around the functions need not be optimised.
bench-aws: functions ## the functions on AWS: how long a start takes, beside one that does nothing, and what a firing costs
	MINUTEHAND_BENCH_FUNCTIONS='$(abspath $(TARGET_DIR))/functions' \
		cargo bench -p minutehand-tests --bench aws --profile dev --locked

size: functions ## the functions' packages, zipped, built for this machine
	@for function in $(FUNCTIONS); do \
		gzip -9 -c "$(TARGET_DIR)/functions/$$function" | wc -c | \
			awk -v name=$$function '{ printf "%-10s %.2f MB\n", name, $$1 / 1000000 }'; \
	done

LAMBDA_BUILD = PATH='$(TOOLS)':"$$PATH" cargo lambda build --locked --lambda-dir target/lambda \
	$(if $(filter arm64,$(ARCHITECTURE)),--arm64,--x86-64)

build: ## the functions for Lambda, for ARCHITECTURE=arm64 or x86_64
	@infra/tools/install
ifneq ($(BUILT),)
	@for function in $(FUNCTIONS); do \
		mkdir -p "target/lambda/$$function" && \
		strip -o "target/lambda/$$function.$$$$" "$(BUILT)/$$function" && \
		mv "target/lambda/$$function.$$$$" "target/lambda/$$function/bootstrap" || exit 1; \
	done
else ifneq ($(BUILD_PROFILE),)
	$(LAMBDA_BUILD) --profile $(BUILD_PROFILE) $(FUNCTIONS:%=-p minutehand-%)
else
	$(LAMBDA_BUILD) --profile functions -p minutehand-sweeper -p minutehand-executor
	$(LAMBDA_BUILD) --profile functions -p minutehand-archiver
	$(LAMBDA_BUILD) --profile api-function -p minutehand-api
endif

dist: ## the binary, optimised and stripped; that of `make packages` is half as large
	@echo 'building the optimised server: three to five minutes on two cores'
	cargo build --profile dist -p minutehand --locked
	@wc -c $(BINARY) | awk '{ printf "%s: %.1f MB\n", $$2, $$1 / 1000000 }'

# Where bash, zsh and fish look for what completes a command.
COMPLETIONS := share/bash-completion/completions/minutehand share/zsh/site-functions/_minutehand \
	share/fish/vendor_completions.d/minutehand.fish

# Nothing is built here, so that it works under sudo: root has no toolchain.
install: ## put what `make dist` built, manual pages and a unit for systemd below PREFIX; makes /etc/minutehand
	@test -x '$(BINARY)' || { echo 'there is no $(BINARY): run `make dist` first' >&2; exit 1; }
	install -d '$(DESTDIR)$(PREFIX)/bin' '$(DESTDIR)$(PREFIX)/lib/systemd/system'
	install -m 755 '$(BINARY)' '$(DESTDIR)$(PREFIX)/bin/minutehand'
	sed 's|/usr/local/bin/|$(PREFIX)/bin/|' infra/systemd/minutehand.service \
		> '$(DESTDIR)$(PREFIX)/lib/systemd/system/minutehand.service'
	install -d $(addprefix '$(DESTDIR)$(PREFIX)'/,share/man/man1 $(dir $(COMPLETIONS)))
	'$(BINARY)' man '$(DESTDIR)$(PREFIX)/share/man/man1'
	'$(BINARY)' completions bash > '$(DESTDIR)$(PREFIX)/$(word 1,$(COMPLETIONS))'
	'$(BINARY)' completions zsh > '$(DESTDIR)$(PREFIX)/$(word 2,$(COMPLETIONS))'
	'$(BINARY)' completions fish > '$(DESTDIR)$(PREFIX)/$(word 3,$(COMPLETIONS))'
	install -d -m 700 '$(DESTDIR)/etc/minutehand'

uninstall: ## remove what `make install` put below PREFIX; settings and data stay
	rm -f '$(DESTDIR)$(PREFIX)/bin/minutehand' '$(DESTDIR)$(PREFIX)/lib/systemd/system/minutehand.service'
	rm -f $(addprefix '$(DESTDIR)$(PREFIX)'/,share/man/man1/minutehand.1 share/man/man1/minutehand-*.1 $(COMPLETIONS))
	@if [ -d '$(DESTDIR)/etc/minutehand' ]; then rmdir --ignore-fail-on-non-empty '$(DESTDIR)/etc/minutehand'; fi
	@echo 'Data and settings stay: remove /var/lib/minutehand and /etc/minutehand by hand.'

# A binary that is given is packed as it is.
packages: ## wheel, npm, deb, archive, formula, installer and image in target/packages, for glibc 2.28; TAG=v1.2.3 has to fit
	@.ci/timed packages infra/packages/build $(if $(filter command environment,$(firstword $(origin BINARY))),--binary '$(BINARY)')

packages-test: ## each package installed, upgraded and removed: those of `make packages`, or of the newest binary
	@.ci/timed packages-test infra/packages/test

packages-join: ## what a release has once for all machines, from the archives in target/packages: installer, formula, checksums
	@infra/packages/build --join '$(TARGET_DIR)/packages'

sbom: ## every crate in the binary, as CycloneDX, in target/packages; needs cargo-cyclonedx
	cargo cyclonedx --manifest-path functions/local/Cargo.toml --format json --override-filename minutehand.cdx
	mkdir -p '$(TARGET_DIR)/packages'
	mv functions/local/minutehand.cdx.json '$(TARGET_DIR)/packages/minutehand.cdx.json'
	@# It writes one for each crate of the workspace.
	find functions shared tests -name minutehand.cdx.json -delete

release-notes: ## the notes of this version in target/packages; OPTIONS=--readme puts the names in registries into README
	@infra/packages/release-notes $(OPTIONS)

publish: ## the wheels and npm packages in target/packages to the registries in PUBLISH="pypi npm"; nothing without it
	@infra/packages/publish '$(TARGET_DIR)/packages'

image: ## the container image of what `make dist` built, in target/image; needs buildah
	@infra/image/build

image-test: ## the image, run in an empty root; of the newest binary there is
	@.ci/timed image infra/image/test

deploy: build ## the stack on AWS, as STACK, with PARAMETERS="Name=value …"; shared/docs/aws-parameters.md lists them
	@'$(TOOLS)/python' infra/tools/check-account
	'$(TOOLS)/sam' validate --lint --template '$(TEMPLATE)'
	'$(TOOLS)/sam' build --template '$(TEMPLATE)' --build-dir '$(SAM_BUILD)'
	'$(TOOLS)/sam' deploy --template-file '$(SAM_BUILD)/template.yaml' --stack-name '$(STACK)' --resolve-s3 \
		--capabilities CAPABILITY_IAM --no-fail-on-empty-changeset --tags $(TAGS) \
		--parameter-overrides Architecture=$(ARCHITECTURE) Release=$(RELEASE) $(PARAMETERS)
	@'$(TOOLS)/python' infra/tools/check-receiver '$(STACK)'
	'$(TOOLS)/python' infra/tools/protect '$(STACK)'

# As `make deploy`, it asks no questions. The CDK keeps the parameters that it is not given, too.
deploy-cdk: build ## the same stack with the CDK, in an account that `npx cdk bootstrap` has prepared
	@infra/cdk/install
	@'$(TOOLS)/python' infra/tools/check-account
	cd infra/cdk && npx cdk deploy '$(STACK)' --context 'stack=$(STACK)' --require-approval never \
		$(TAGS:%=--tags %) \
		$(patsubst %,--parameters %,Architecture=$(ARCHITECTURE) Release=$(RELEASE) $(PARAMETERS))
	@'$(TOOLS)/python' infra/tools/check-receiver '$(STACK)'
	'$(TOOLS)/python' infra/tools/protect '$(STACK)'

# The token of the API is in the variable MINUTEHAND_TOKEN.
OPTIONS ?=
smoke: ## use every part of the stack STACK once: jobs, roles, logs; OPTIONS=--long for twenty minutes more
	@infra/tools/install >/dev/null
	@'$(TOOLS)/python' infra/tools/smoke '$(STACK)' $(OPTIONS)

gameday: ## break the stack STACK in seven ways, and say who noticed; asks before each, and puts all back
	@infra/tools/install >/dev/null
	@'$(TOOLS)/python' infra/tools/gameday '$(STACK)' $(OPTIONS)

doctor: ## look at the stack STACK and its account: quotas, settings, alarms; says what to do
	@infra/tools/install >/dev/null
	@'$(TOOLS)/python' infra/tools/doctor '$(STACK)' $(OPTIONS)

rewind: ## send again what the queue of STACK has lost, as after a failover; OPTIONS='--to INSTANT' or --dry-run
	@infra/tools/install >/dev/null
	@'$(TOOLS)/python' infra/tools/rewind '$(STACK)' $(OPTIONS)

local-lambda: ## cargo lambda watch: the functions beside an AWS in one process; prints events to send
	@tests/e2e/watch
