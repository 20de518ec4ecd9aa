package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A reload is what is asked about a configuration that is right: what it would change, and
// what would come of that.
type reload struct {
	against   string // a file; empty for none
	server    string // of a running scheduler; empty for none
	tokenFile string
}

// print says what a reload of a text would do.
func (r *reload) print(ctx context.Context, text string, out io.Writer) error {
	lines, err := r.lines(ctx, text)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

// lines are what a reload of a text would do.
func (r *reload) lines(ctx context.Context, text string) (lines []string, err error) {
	after, err := config.Load(text, nil)
	if err != nil {
		return nil, err
	}
	if r.against != "" {
		if lines, err = r.changes(after); err != nil {
			return nil, err
		}
	}
	if r.server != "" {
		told, err := r.outcome(ctx, after)
		if err != nil {
			return nil, err
		}
		lines = append(lines, told...)
	}
	return lines, nil
}

// changes are what differs from the configuration in effect.
func (r *reload) changes(after *config.Document) ([]string, error) {
	name, text, err := readText(r.against, strings.NewReader(""))
	if err != nil {
		return nil, err
	}
	before, err := config.Load(text, nil)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be used: %w", name, err)
	}
	changes := config.Compare(before, after)
	lines := []string{fmt.Sprintf("against %s: %s", name, counted(len(changes), "change"))}
	for _, c := range changes {
		lines = append(lines, "  "+c.String())
	}
	return lines, nil
}

// outcome is what a running scheduler says would come of the configuration, for each of its
// partitions.
func (r *reload) outcome(ctx context.Context, after *config.Document) ([]string, error) {
	ctx, cancel := within(ctx)
	defer cancel()
	to := connection{server: r.server, tokenFile: r.tokenFile}
	c, err := to.client()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, p := range after.Definitions {
		c.Partition = p.Name
		answer, err := c.WhatIf(ctx, &client.Question{Config: after.Text})
		switch {
		case errors.Is(err, client.ErrNotFound):
			lines = append(lines, "partition "+p.Name+": is not known to the scheduler")
			continue
		case err != nil:
			return nil, fmt.Errorf("partition %s: %w", p.Name, to.reached(err))
		}
		lines = append(lines, fmt.Sprintf("partition %s: %s would be over %s max", p.Name, counted(len(answer.Value.OverUse), "queue"), its(len(answer.Value.OverUse))))
		for _, over := range answer.Value.OverUse {
			lines = append(lines, fmt.Sprintf("  %s, by %s", over.Queue, over.By))
		}
		for _, over := range answer.Value.OverLimits {
			lines = append(lines, "  "+over.String())
		}
		for _, line := range answer.Value.Evictions(asIs) {
			lines = append(lines, "  "+line)
		}
	}
	return lines, nil
}

// its is what so many have.
func its(n int) string {
	if n == 1 {
		return "its"
	}
	return "their"
}
