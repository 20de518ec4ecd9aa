package recording_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"github.com/klauspost/compress/zstd"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
	"github.com/narwhal-scheduler/narwhal/pkg/simulator"
)

// simulated records what happens in a scenario for a while, in a new segment every few minutes.
func simulated(t *testing.T, text string, age, until time.Duration) string {
	t.Helper()
	s, err := simulator.Parse(text)
	assert.NilError(t, err)
	directory, began := t.TempDir(), time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	r, err := recording.New(recording.Config{Directory: directory, SegmentAge: time.Hour, SegmentMax: 1 << 40, StepsMax: 1 << 30})
	assert.NilError(t, err)
	defer r.Close()
	remote := simulator.NewRemote(s, 1)
	p, steps := r.Begin(began, api.Options{
		Partition: partition, Kinds: s.Kinds, Budgets: remote.Budgets, Simulate: remote.Simulate, Constraints: remote.PredicateClass,
		Feasible: func(key api.AllocationKey, node api.NodeID, _ bool) error { return remote.Feasible(key, node) },
	}, s.Config)
	defer steps.End()
	renewed := time.Duration(0)
	for now, next := time.Duration(0), time.Duration(0); now <= until; now = next {
		if now-renewed >= age {
			steps.(interface{ Renew() }).Renew()
			renewed = now
		}
		commands, due := remote.Advance(now)
		at := began.Add(now)
		observe := func(fx api.Effects) {
			for _, event := range fx {
				remote.Observe(now, event)
			}
		}
		for _, c := range commands {
			observe(steps.Apply(at, c))
		}
		for more := true; more; {
			var fx api.Effects
			fx, more = steps.Schedule(at)
			observe(fx)
		}
		next = max(due, now+time.Millisecond)
		if own, ok := p.Due(); ok && own.After(at) {
			next = min(next, own.Sub(began))
		}
	}
	return directory
}

// redact writes a recording with other names, which can be played, and returns where.
func redact(t *testing.T, directory string) string {
	t.Helper()
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	to := filepath.Join(t.TempDir(), "sent")
	done, err := d.Redact(to, d.Partitions...)
	assert.NilError(t, err)
	t.Logf("%+v", done)
	return to
}

// content is all that is in the files below a directory, with their names.
func content(t *testing.T, directory string) (all []byte) {
	t.Helper()
	decoder, err := zstd.NewReader(nil)
	assert.NilError(t, err)
	defer decoder.Close()
	assert.NilError(t, filepath.WalkDir(directory, func(path string, d fs.DirEntry, err error) error {
		relative, _ := filepath.Rel(directory, path)
		all = append(append(all, relative...), '\n')
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.ReadFile(path)
		assert.NilError(t, err)
		for rest := bytes.TrimPrefix(file, []byte("narwhal recording 1\n")); len(rest) > 0; {
			size := binary.LittleEndian.Uint32(rest)
			if all, err = decoder.DecodeAll(rest[8:8+size], all); err != nil {
				return err
			}
			rest = rest[8+size:]
		}
		return nil
	}))
	return regexp.MustCompile(`github\.com/narwhal-scheduler/[\w/.-]+`).ReplaceAll(all, nil) // functions that sort trees
}

// namesIn are the names of a recording that mean nothing to the core.
func namesIn(t *testing.T, directory string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	for _, s := range d.Segments[partition] {
		p, err := recording.Open(s.Path)
		assert.NilError(t, err)
		for err == nil {
			var step recording.Step
			step, err = p.Next()
			switch c := step.Command.(type) {
			case api.AddNode:
				names[string(c.ID)] = true
				for _, value := range c.Attributes {
					names[value] = true
				}
			case api.AddApplication:
				names[string(c.ID)], names[c.User] = true, true
				names[string(c.Queue[strings.LastIndexByte(string(c.Queue), '.')+1:])] = true
				for _, value := range c.Tags {
					names[value] = true
				}
			case api.AddAllocation:
				names[string(c.Allocation.Key)] = true
			}
		}
		p.Close()
	}
	for name := range names {
		if len(name) < 4 || strings.Trim(name, "0123456789") == "" { // they occur by chance, and in amounts
			delete(names, name)
		}
	}
	for _, name := range []string{"root", "default", "true", "false", "Burstable", "gang", "index"} {
		delete(names, name)
	}
	return names
}

// A recording of a scenario with every key, and of ones with much preemption, says the same with other names, of which none was there before.
func TestRedact(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	keys, err := os.ReadFile("../../docs/examples/simulator/keys.yaml")
	assert.NilError(t, err)
	texts := map[string]string{"keys": string(keys)}
	for _, name := range simulator.Examples() {
		texts[name], err = simulator.ExampleText(name)
		assert.NilError(t, err)
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			until := 12 * time.Minute
			if name == "teams" { // it is large
				until /= 6
			}
			directory := simulated(t, text, until/3, until)
			assert.Assert(t, len(namesIn(t, directory)) > 10)
			isRedacted(t, directory, redact(t, directory))
			d, err := recording.Read(directory)
			assert.NilError(t, err)
			list := d.Segments[partition]
			if len(list) == 1 {
				return
			}
			assert.NilError(t, recording.MakeImage(list[1].Path))
			assert.NilError(t, os.Remove(list[0].Path)) // and so it begins with an image
			isRedacted(t, directory, redact(t, directory))
		})
	}
}

// isRedacted checks that a recording says the same as another, of which it has no names.
func isRedacted(t *testing.T, directory, sent string) {
	t.Helper()
	all, names := content(t, sent), namesIn(t, directory)
	for name := range names {
		at := bytes.Index(all, []byte(name))
		assert.Assert(t, at < 0, "%s: %.80q", name, all[max(at-40, 0):])
	}
	d, err := recording.Read(sent)
	assert.NilError(t, err)
	assert.Equal(t, len(d.Partitions), 1)
	assert.Assert(t, d.Partitions[0] != partition)
	assert.DeepEqual(t, playOf(t, sent, d.Partitions[0]), play(t, directory), cmpPlayed)
}

// What cannot be written says where, and leaves nothing behind.
func TestRedactWhatIsBroken(t *testing.T) {
	path := only(t, record(t, recording.Config{}, schedulertest.Options{}, few))
	d, err := recording.Read(filepath.Dir(filepath.Dir(path)))
	assert.NilError(t, err)
	whole, err := os.ReadFile(path)
	assert.NilError(t, err)
	to := filepath.Join(t.TempDir(), "sent")
	assert.NilError(t, os.WriteFile(path, whole[:len(whole)-3], 0o600))
	done, err := d.Redact(to, partition)
	assert.NilError(t, err)
	assert.ErrorIs(t, done.Torn, recording.ErrTorn)
	assert.NilError(t, os.RemoveAll(to))
	for i := 30; i < len(whole); i += 11 {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		assert.NilError(t, os.WriteFile(path, damaged, 0o600))
		if done, err = d.Redact(to, partition); err == nil {
			assert.ErrorIs(t, done.Torn, recording.ErrTorn)
			assert.NilError(t, os.RemoveAll(to))
			continue
		}
		assert.ErrorContains(t, err, path)
		_, err = os.Stat(to)
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
}

// Answers that came by chance, and callers at once, are played with other names; so is a recording of which the beginning was removed.
func TestRedactAStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	options := schedulertest.Options{
		Simulates:      true,
		Scheduler:      scheduler.Config{PlacementsMax: 16},
		Predicates:     func(*si.PredicatesArgs) error { return byChance() },
		PredicatesWith: func(*scheduler.PredicatesWithArgs) error { return byChance() },
		PredicateClass: func(key string) string { return "class-" + key[len(key)-1:] },
	}
	directory := record(t, recording.Config{SizeMax: 500 << 10, SegmentMax: 10 << 10}, options, storm)
	sent := redact(t, directory)
	isRedacted(t, directory, sent)
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.Assert(t, d.Segments[partition][0].Number > 1)
	_, err = d.Redact(sent, partition)
	assert.ErrorContains(t, err, sent+" is not empty")
}

// Rules of placement lead to the same queues: names that an expression matches are listed, dots in names stay, and queues are in lower case.
func TestRedactRules(t *testing.T) {
	directory := record(t, recording.Config{}, schedulertest.Options{Config: `
partitions:
  - name: default
    placementrules:
      - {name: user, create: true, filter: {users: ["^an.*a$"]}, parent: {name: fixed, value: root.people}}
      - {name: user, create: true, filter: {type: deny, groups: ["^visit"]}, parent: {name: fixed, value: root.members}}
      - {name: provided}
    queues:
      - name: root
        queues:
          - {name: people, parent: true, submitacl: "*"}
          - {name: members, parent: true, limits: [{limit: "", users: [dora.hill], maxapplications: 1}]}
          - {name: others, submitacl: " visitors"}
`}, func(t *testing.T, m *schedulertest.MockScheduler) {
		m.AddNode("node-1", "vcore=8")
		for i, user := range []string{"anna", "antonia", "dora.hill", "dora.hill", "guest", "anna_dot_x"} {
			group := "staff"
			if user == "guest" {
				group = "visitors"
			}
			app := fmt.Sprintf("shop-%d", i)
			assert.NilError(t, m.Scheduler.UpdateApplication(&si.ApplicationRequest{RmID: "rm", New: []*si.AddApplicationRequest{{
				ApplicationID: app, QueueName: "root.Others", PartitionName: "default", Ugi: &si.UserGroupInformation{User: user, Groups: []string{group}},
			}}}))
			m.Settle()
			_ = m.Send(&si.Allocation{ApplicationID: app, AllocationKey: "pod-" + app, PartitionName: "default", ResourcePerAlloc: schedulertest.Resource("vcore=1")})
			m.Settle()
		}
	})
	sent := redact(t, directory)
	isRedacted(t, directory, sent)
	all := content(t, sent)
	for _, name := range []string{"people", "members", "visit", "staff", "dora", "^an"} {
		assert.Assert(t, !bytes.Contains(all, []byte(name)), name)
	}
}
