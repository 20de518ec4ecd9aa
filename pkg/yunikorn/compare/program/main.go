// Package main is one program that is built twice: with yunikorn-core, and with the module that stands in for it. It plays
// scenarios over the scheduler-interface and REST, each in a partition of its own, and writes what was heard and seen.
//
//	main.go       the scenarios are played, all at once
//	world.go      what a scenario can do, and what it writes
//	scenarios.go  the scenarios
package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/apache/yunikorn-core/pkg/entrypoint"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run plays all scenarios and writes them as JSON: lines by name.
func run() error {
	quiet := zap.NewProductionConfig()
	quiet.Level = zap.NewAtomicLevelAt(zap.FatalLevel)
	services := entrypoint.StartAllServicesWithLogger(zap.NewNop(), &quiet)
	p := &program{api: services.RMProxy, worlds: map[string]*world{}}
	for name := range scenarios() {
		p.worlds[name] = newWorld(p, name)
	}
	_, err := p.api.RegisterResourceManager(&si.RegisterResourceManagerRequest{
		RmID: resourceManager, PolicyGroup: "queues", Version: "1", Config: configuration(nil),
	}, p)
	if err != nil {
		return err
	}
	var playing sync.WaitGroup
	for name, s := range scenarios() {
		playing.Go(func() { s.play(p.worlds[name]) })
	}
	playing.Wait()
	out := map[string][]string{}
	for name, w := range p.worlds {
		out[name] = w.lines
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// configuration is that of all partitions, some of them in other words.
func configuration(changed map[string]string) string {
	text, all := new(strings.Builder), scenarios()
	text.WriteString("partitions:\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		text.WriteString("- name: " + name + "\n" + indented(cmp.Or(changed[name], all[name].config)))
	}
	return text.String()
}

// indented puts the text of a partition below its name.
func indented(config string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(config), "\n", "\n  ") + "\n"
}
