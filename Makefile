# The commands of this repository. They need Go, make and, for the race
# detector, a C compiler.

GO            ?= go
GOLANGCI_LINT ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
TESTFLAGS     ?=
FUZZTIME      ?= 30s
# Each day has other worlds.
TODAY         := $(shell expr $$(date +%s) / 86400)
TORTURE       ?= $(TODAY)00000 100000
PKG           ?=
SEED          ?= 1
COUNT         ?= 0
KEEP          ?=

# Every directory with a module of its own; the root is one of them.
MODULES := $(sort $(patsubst %/go.mod,%,$(shell find . -name go.mod -not -path '*/testdata/*' -not -path './.git/*')))

# The race detector needs cgo, and cgo a C compiler.
CC   := $(shell $(GO) env CC)
RACE := $(shell command -v $(CC) >/dev/null 2>&1 && echo -race)

# The tests of the dashboard need a browser.
BROWSER := $(shell command -v chromium-headless-shell || command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable)

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-13s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: run
run: ## simulate the bundled example cluster and write report.html
	$(GO) run ./cmd/narwhal simulate --output summary --report report.html

.PHONY: serve
serve: ## run the scheduler with that cluster, sixty times as fast as real; the dashboard is at http://127.0.0.1:9080
	$(GO) run ./cmd/narwhal serve --loop

# What is played with the race detector, since it starts goroutines or its tests do; with it all
# takes ten times as long. internal/tidy reads this line and sees that no other package does so.
RACED := /narwhal/(cmd/narwhal|docs/example(/manager)?|pkg/(accounting|archive|core/worlds|events|metrics|recording(/moment)?|scheduler(/schedulertest)?|server|simulator/live|webservice(/(client|dashboard|object))?|internal/flight))$$

# Those of them with large tests that need no goroutines: -short skips these with the race
# detector, and make test-long plays them without it.
LARGE := /narwhal/pkg/(archive|core/worlds|events|scheduler|server)$$

# The nested modules that are played with the race detector. They have goroutines and compile
# in seconds with it. What imports Kubernetes or a whole other core would take minutes. Their
# results are not taken from the cache, which does not see the goldens and documents of the root.
RACED_MODULES := ./pkg/identity/ldap ./pkg/yunikorn

# The nested modules without races whose tests read manifests and documents of the root, of which the cache of results knows nothing.
UNCACHED := ./pkg/kubernetes/deploy ./pkg/yunikorn/compare

# The packages with Kubernetes that make test plays: each is linked for five seconds.
KUBERNETES := ./shim/... ./feasibility ./preferences ./pods ./descheduler

# Its own packages begin with this.
OWN := github.com/narwhal-scheduler/narwhal

# The tests of the dashboard and those against an API server wait for other programs, so
# they run beside those that compute. A machine that is busy or compiles everything anew must
# not fail at the ten minutes that go test gives a package. Tests make much garbage and keep
# little: with GOGC the collector has a sixth less to do in all. Without tables for debuggers, and
# without functions put into others, the compiler has a fifth less to do; what counts the
# allocations of events has them put. A program with the race detector sleeps a second at its
# end unless it is told not to. make lint does what go vet does, and more.
.PHONY: test test-long
test test-long: export GOGC ?= 800
test test-long: export GORACE ?= atexit_sleep_ms=20
test test-long: export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) '-gcflags=$(OWN)/...=-dwarf=false -l' '-gcflags=$(OWN)/pkg/events=-dwarf=false')
test: export SHORT := -short
test: missing ## run most tests, in four minutes, with the race detector where there are goroutines
	@$(MAKE) --no-print-directory -k -j3 test-raced test-plain test-browser test-kubernetes
	@echo "make test: passed; make test-long plays the long ones and the other modules, too"

test-long: missing ## run all tests of all modules, in a quarter of an hour
	@$(MAKE) --no-print-directory -k -j3 test-raced test-plain test-browser e2e-short test-kubernetes

# missing says what is not played on this machine.
.PHONY: missing
missing:
ifeq ($(RACE),)
	@echo "no C compiler ($(CC)) was found, so the tests run WITHOUT the race detector; install gcc or clang for it"
endif
ifeq ($(BROWSER),)
	@echo "no browser (chromium-headless-shell, chromium, google-chrome) was found, so the tests of the dashboard are SKIPPED; install the package chromium-headless-shell for them"
endif

# test-modules plays the nested modules that are named, without the race detector, but for what
# test-browser and e2e-short play.
define test-modules
set -e; for module in $(1); do \
	echo "== $$module"; \
	case " $(UNCACHED) " in *" $$module "*) again=-count=1;; *) again=;; esac; \
	(cd $$module && $(GO) test -vet=off -timeout 30m $$again $(TESTFLAGS) $$($(GO) list ./... | grep -vE '/(acceptance/browser|kubernetes/e2e)$$')); \
done
endef

# What is compiled with the race detector and what without it have nothing in common, so both go
# on side by side. What is needed more than once without it is compiled before all else.
.PHONY: test-built
test-built:
	@$(GO) build ./...

.PHONY: test-plain
test-plain: test-built
	@echo "== . without the race detector"
	@$(GO) test -vet=off -timeout 30m $(SHORT) $(TESTFLAGS) $$($(GO) list ./... | grep -vE '$(RACED)') $(if $(SHORT),,$$($(GO) list ./... | grep -E '$(LARGE)'))

.PHONY: test-kubernetes
test-kubernetes: test-built
	@$(if $(SHORT),echo "== pkg/kubernetes" && cd pkg/kubernetes && $(GO) test -vet=off -timeout 30m -short $(TESTFLAGS) $(KUBERNETES),$(call test-modules,$(filter ./pkg/kubernetes%,$(MODULES))))

.PHONY: test-raced
test-raced:
	@echo "== . with the race detector"
	@$(if $(RACE),CGO_ENABLED=1) $(GO) test -vet=off -timeout 30m $(RACE) -short $(TESTFLAGS) $$($(GO) list ./... | grep -E '$(if $(SHORT),$(RACED),$(LARGE))')
	@$(if $(SHORT),,$(if $(RACE),CGO_ENABLED=1) $(GO) test -vet=off -timeout 30m $(RACE) $(TESTFLAGS) $$($(GO) list ./... | grep -E '$(RACED)' | grep -vE '$(LARGE)'))
	@$(if $(SHORT),,set -e; for module in $(if $(RACE),$(RACED_MODULES)); do \
		echo "== $$module"; \
		(cd $$module && CGO_ENABLED=1 $(GO) test -vet=off -timeout 30m $(RACE) -count=1 $(TESTFLAGS) ./...); \
	done)
	@$(if $(SHORT),,$(call test-modules,$(filter-out . ./pkg/kubernetes% $(if $(RACE),$(RACED_MODULES)),$(MODULES))))

.PHONY: test-browser
test-browser: test-built
	@echo "== pkg/webservice/acceptance/browser"
	@cd pkg/webservice/acceptance && $(GO) test -vet=off -timeout 20m $(SHORT) $(TESTFLAGS) ./browser

# -count=1 since the scheduler is a program that the test builds: go test does not see when
# it changes.
.PHONY: e2e-short
e2e-short: ## play the shortest scenarios that show the whole chain, in half a minute, if make e2e has built a real API server
	@cd pkg/kubernetes && missing=$$($(GO) run ./e2e/programs/build -missing) && \
	if [ -n "$$missing" ]; then \
		echo "make e2e-short: of a real API server, $$missing are not built, so its scenarios are SKIPPED; make e2e builds them, in 5 to 15 minutes, and keeps them"; \
	fi && \
	E2E=$$([ -n "$$missing" ] || echo short) $(GO) test -vet=off -count=1 -timeout 5m $(TESTFLAGS) ./e2e

.PHONY: e2e
e2e: ## play scenarios against a real API server; the first time this builds one, in 5 to 15 minutes; TESTFLAGS=-short for a part
	@cd pkg/kubernetes && $(GO) run ./e2e/programs/build
	@cd pkg/kubernetes && E2E=1 $(GO) test -count=1 -timeout 45m $(TESTFLAGS) ./e2e/...

.PHONY: compare-groups
compare-groups: ## place groups of pods with kube-scheduler 1.37 and with the core, in ten minutes, and some more to compile the former
	@cd pkg/kubernetes/compare && $(GO) test -tags compare -vet=off -count=1 -timeout 0 -v $(TESTFLAGS) .

.PHONY: lint
lint: ## check style and the rules of .golangci.yml in every module
	@set -e; for module in $(MODULES); do \
		echo "== $$module"; \
		(cd $$module && $(GOLANGCI_LINT) run --config "$(CURDIR)/.golangci.yml" ./...); \
	done

.PHONY: bench
bench: ## measure the core and the scheduler around it
	$(GO) test -run '^$$' -bench . -benchmem ./pkg/core/... ./pkg/scheduler/...

.PHONY: openb
openb: ## fill the nodes of the openb trace with each order of nodes; OPENB=directory of its lists, PLACEMENT=page with plots
	NARWHAL_OPENB=$(OPENB) NARWHAL_OPENB_PAGE=$(abspath $(or $(PLACEMENT),bin/placement.html)) $(GO) test -count=1 -v -run TestOpenbFilled ./pkg/simulator

# The real trace is a part of it where OPENB names the directory of its lists. PAGE is the page
# with plots.
PAGE ?= bin/narwhal-bench.html

.PHONY: bench-compare
bench-compare: ## compare this core with yunikorn-core, in half an hour; OPENB=directory for the real trace, COMPARE="--sizes small" for a minute
	cd cmd/narwhal-bench && $(GO) build -o ../../bin/narwhal-bench .
	bin/narwhal-bench $(if $(OPENB),--openb-nodes $(OPENB)/openb_node_list_all_node.csv --openb-pods $(OPENB)/openb_pod_list_default.csv) \
		--json bin/narwhal-bench.json --html $(PAGE) $(COMPARE)

# The loads of the table of the first page, at ordinary priority.
FIGURES := filling,many queues,full cluster,steady churn,foreign churn,daemonset preemption,guarantee preemption

.PHONY: figures
figures: ## measure what the first page says, in five minutes on a quiet machine, and take the pictures of the documents
	cd cmd/narwhal-bench && $(GO) build -o ../../bin/narwhal-bench .
	bin/narwhal-bench --scenarios "$(FIGURES)" --json docs/internals/figures.json --html docs/performance.html
	cd cmd/narwhal-bench && $(GO) test -vet=off -count=1 -run Figures -update .
	cd pkg/webservice/acceptance && $(GO) test -vet=off -count=1 ./browser -run Screenshot -update

.PHONY: compare-yunikorn
compare-yunikorn: ## play one program on yunikorn-core and on the module that stands in for it, in a minute; both serve at port 9080
	@cd pkg/yunikorn/compare && COMPARE=1 $(GO) test -count=1 -v $(TESTFLAGS) .

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for module in $(MODULES); do (cd $$module; \
		for package in $$($(GO) list ./...); do \
			for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
				echo "== $$package $$target"; \
				$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzzminimizetime 1x -fuzztime $(FUZZTIME) $$package; \
			done; \
		done); \
	done

.PHONY: torture
torture: ## play 100,000 random worlds, all small ones to a depth, 200 histories of 5,000 steps, 60 days, 3,000,000 steps of clusters under faults, and five times what go test plays of the others, with all laws; TORTURE="seed count" for those of another day
	TORTURE="$(TORTURE)" $(GO) test -count=1 -timeout 0 $$($(GO) list ./pkg/core/... | grep -v '/worlds$$')
	TORTURE="$(TORTURE)" $(GO) test -count=1 -run '^TestSoak$$' -timeout 0 -v ./pkg/server
	cd pkg/kubernetes && TORTURE="$(TORTURE)" $(GO) test -count=1 -timeout 0 ./descheduler/landing ./shim/shimtest
	TORTURE="$(TORTURE)" $(GO) test -count=1 -run '^Test(Small)?Worlds$$' -timeout 0 -v ./pkg/core/worlds
	TORTURE="$(TORTURE)" $(GO) test -count=1 -run '^Test(Worlds|RealScheduler)$$' -timeout 0 -v ./pkg/simulator/torture ./pkg/simulator/live

.PHONY: mutants
mutants: ## put faults into the code, one at a time, and list those that no test finds; PKG=pkg/a,pkg/b SEED=2 COUNT=10 for parts
	@$(GO) run ./pkg/internal/mutants -packages "$(PKG)" -seed $(SEED) -count $(COUNT) $(if $(KEEP),-keep)
