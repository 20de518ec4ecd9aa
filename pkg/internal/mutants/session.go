package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A target is a package that gets faults.
type target struct {
	dir     string
	count   int     // of faults, unless an option says so
	without string  // a pattern of file names that get none
	tests   []suite // that see the package, its own first
}

// A session is one run of the program.
type session struct {
	root    string
	targets []target
	seed    uint64
	count   int // of each package; 0 is that of the target
	list    map[string]accepted
	results *journal
	try     func(ctx context.Context, f fault, content []byte, tests []suite) (result, error)
	out     io.Writer
	clock   func() time.Time

	exist    map[string]bool // every fault that there is
	problems []string
}

// show prints the sample, and runs nothing.
func (s *session) show() error {
	for _, t := range s.targets {
		_, chosen, err := s.choose(t)
		if err != nil {
			return err
		}
		for _, f := range chosen {
			fmt.Fprintln(s.out, f.short())
		}
	}
	return nil
}

// choose enumerates the faults of a package and takes the sample.
func (s *session) choose(t target) (*source, []fault, error) {
	from, err := load(s.root, t.dir)
	if err != nil {
		return nil, nil, err
	}
	all := from.faults(t.without)
	for _, f := range all {
		s.exist[f.name()] = true
	}
	count := s.count
	if count == 0 {
		count = t.count
	}
	return from, sample(all, s.seed, count, from.compiles), nil
}

// play runs the tests against every fault of the sample, prints the table, and
// reports whether all is well.
func (s *session) play(ctx context.Context) (bool, error) {
	var all []counts
	for _, t := range s.targets {
		c, err := s.target(ctx, t)
		if err != nil {
			return false, err
		}
		all = append(all, c)
	}
	s.stale()
	fmt.Fprintf(s.out, "\n%s", table(all))
	for _, p := range s.problems {
		fmt.Fprintf(s.out, "\n%s\n", p)
	}
	return len(s.problems) == 0, nil
}

func (s *session) target(ctx context.Context, t target) (counts, error) {
	c := counts{name: t.dir}
	from, chosen, err := s.choose(t)
	if err != nil {
		return c, err
	}
	for i, f := range chosen {
		r, done := s.results.known[f.name()]
		if !done {
			if r, err = s.one(ctx, f, from.with(f), t.tests); err != nil {
				return c, err
			}
		}
		fmt.Fprintf(s.out, "%s %d/%d %-9s %5.1f s  %s  [%s]\n", t.dir, i+1, len(chosen), r.Outcome, r.Seconds, f.short(), r.By)
		s.judge(&c, f, r.Outcome)
	}
	return c, nil
}

// one tries a fault and writes the result.
func (s *session) one(ctx context.Context, f fault, content []byte, tests []suite) (record, error) {
	began := s.clock()
	got, err := s.try(ctx, f, content, tests)
	if err != nil {
		return record{}, fmt.Errorf("%s: %w", f.short(), err)
	}
	r := record{Fault: f.name(), Outcome: got.outcome, By: got.by, Seconds: s.clock().Sub(began).Seconds()}
	return r, s.results.add(r)
}

// judge counts an outcome, and compares it with the list.
func (s *session) judge(c *counts, f fault, got outcome) {
	entry, listed := s.list[f.name()]
	c.faults++
	switch got {
	case killed:
		c.killed++
	case timedOut:
		c.timedOut++
	case survived:
		c.survived++
		if !listed {
			s.problem("No test finds this fault, and it is not listed with a reason:\n%s", f.name())
			return
		}
		c.listed++
		if entry.same {
			c.same++
		}
		return
	}
	if listed {
		s.problem("Line %d of the list: a test finds this fault by now, take it off:\n%s", entry.line, f.name())
	}
}

// stale finds the entries of the list that are no fault of a package that was looked
// at.
func (s *session) stale() {
	for _, name := range slices.Sorted(maps.Keys(s.list)) {
		file, _, _ := strings.Cut(name, " ")
		ours := slices.ContainsFunc(s.targets, func(t target) bool {
			inside, ok := strings.CutPrefix(file, t.dir+"/")
			return ok && !strings.Contains(inside, "/")
		})
		if ours && !s.exist[name] {
			s.problem("Line %d of the list: there is no such fault any more:\n%s", s.list[name].line, name)
		}
	}
}

func (s *session) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}
