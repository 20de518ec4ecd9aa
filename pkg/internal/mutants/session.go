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
	root     string
	targets  []target
	seed     uint64
	count    int // of each package; 0 is that of the target
	list     map[string]accepted
	results  *journal
	together *schema // gets the faults that are tried
	try      func(ctx context.Context, f fault, content []byte, tests []suite) (result, error)
	out      io.Writer
	clock    func() time.Time

	exist    map[string]bool // every fault that there is
	problems []string
}

// A chosen is the sample of a target.
type chosen struct {
	target
	from   *source
	faults []fault
}

// show prints the sample, and runs nothing.
func (s *session) show() error {
	all, err := s.choose()
	for _, c := range all {
		for _, f := range c.faults {
			fmt.Fprintln(s.out, f.short())
		}
	}
	return err
}

// choose enumerates the faults of each package and takes the sample.
func (s *session) choose() ([]chosen, error) {
	var samples []chosen
	for _, t := range s.targets {
		from, err := load(s.root, t.dir)
		if err != nil {
			return nil, err
		}
		all := from.faults(t.without)
		for _, f := range all {
			s.exist[f.name()] = true
		}
		count := s.count
		if count == 0 {
			count = t.count
		}
		samples = append(samples, chosen{t, from, sample(all, s.seed, count, from.compiles)})
	}
	return samples, nil
}

// play runs the tests against every fault of the sample, prints the table, and
// reports whether all is well.
func (s *session) play(ctx context.Context) (bool, error) {
	samples, err := s.choose()
	if err != nil {
		return false, err
	}
	for _, c := range samples {
		s.together.add(c.from, slices.DeleteFunc(slices.Clone(c.faults), func(f fault) bool {
			_, done := s.results.known[f.name()]
			return done
		}))
	}
	var all []counts
	for _, c := range samples {
		got, err := s.target(ctx, c)
		if err != nil {
			return false, err
		}
		all = append(all, got)
	}
	s.stale()
	fmt.Fprintf(s.out, "\n%s", table(all))
	for _, p := range s.problems {
		fmt.Fprintf(s.out, "\n%s\n", p)
	}
	return len(s.problems) == 0, nil
}

func (s *session) target(ctx context.Context, of chosen) (counts, error) {
	c := counts{name: of.dir}
	for i, f := range of.faults {
		r, done := s.results.known[f.name()]
		if !done {
			var err error
			if r, err = s.one(ctx, f, of.from.with(f), of.tests); err != nil {
				return c, err
			}
		}
		fmt.Fprintf(s.out, "%s %d/%d %-9s %5.1f s  %s  [%s]\n", of.dir, i+1, len(of.faults), r.Outcome, r.Seconds, f.short(), r.By)
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
