package outcome

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/cores"
	"github.com/narwhal-scheduler/narwhal/cmd/narwhal-bench/scenarios"
)

// Ours and Theirs are the cores that are compared, in the order of columns.
const (
	Ours   = cores.Narwhal
	Theirs = cores.YuniKorn
)

// A Report is the results of all runs and where they were made.
type Report struct {
	At          string            // the day
	Machine     string            // processor, number of cores, memory
	Go          string            // version
	Versions    map[string]string // by core
	Command     string
	Repetitions int
	Cases       []*Case
}

// A Case is the runs of one case.
type Case struct {
	scenarios.Case
	Runs map[string][]scenarios.Result // by core
}

// Add takes the result of a run.
func (r *Report) Add(c scenarios.Case, core string, result scenarios.Result) {
	kept := r.find(c)
	kept.Runs[core] = append(kept.Runs[core], result)
}

func (r *Report) find(c scenarios.Case) *Case {
	for _, kept := range r.Cases {
		if reflect.DeepEqual(kept.Case, c) {
			return kept
		}
	}
	kept := &Case{Case: c, Runs: map[string][]scenarios.Result{}}
	r.Cases = append(r.Cases, kept)
	return kept
}

// Merge adds the runs of another report, and says where and when they were made too.
func (r *Report) Merge(other *Report) {
	r.At, r.Machine, r.Go = joined(r.At, other.At), joined(r.Machine, other.Machine), joined(r.Go, other.Go)
	r.Command = joined(r.Command, other.Command)
	if r.Versions == nil {
		r.Versions = map[string]string{}
	}
	for core, version := range other.Versions {
		r.Versions[core] = joined(r.Versions[core], version)
	}
	for _, c := range other.Cases {
		kept := r.find(c.Case)
		for _, core := range []string{Ours, Theirs} {
			kept.Runs[core] = append(kept.Runs[core], c.Runs[core]...)
		}
	}
}

// joined is all that is said in two texts, each once.
func joined(one, other string) string {
	all := strings.Split(one, "; ")
	for text := range strings.SplitSeq(other, "; ") {
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Trim(strings.Join(all, "; "), "; ")
}

// Runs is how often each core played each load, in words.
func (r *Report) Runs() string {
	var counts []int
	for _, c := range r.Cases {
		for _, core := range []string{Ours, Theirs} {
			counts = append(counts, len(c.Runs[core]))
		}
	}
	if len(counts) == 0 {
		return "no run"
	}
	switch least, most := slices.Min(counts), slices.Max(counts); {
	case least < most:
		return fmt.Sprintf("%d to %d runs", least, most)
	case most == 1:
		return "1 run"
	default:
		return fmt.Sprintf("%d runs", most)
	}
}

// Read reads what WriteJSON has written.
func Read(from io.Reader) (*Report, error) {
	r := new(Report)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	return r, nil
}

// WriteJSON writes every run, with the rows of the table beside them.
func (r *Report) WriteJSON(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", " ")
	return encoder.Encode(struct {
		*Report
		Rows []Row
	}{r, r.Rows()})
}

// Faults is what our runs did wrong, one sentence each.
func (r *Report) Faults(core string) []string {
	var faults []string
	for _, c := range r.Cases {
		for i, result := range c.Runs[core] {
			for _, fault := range result.Faults {
				faults = append(faults, fmt.Sprintf("%s, run %d: %s", c.Name(), i+1, fault))
			}
		}
	}
	return faults
}
