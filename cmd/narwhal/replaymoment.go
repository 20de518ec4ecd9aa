package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/moment"
)

// moments serves the moment that is asked for, until the context ends. The page can move it.
func (r *replaying) moments(ctx context.Context, out io.Writer, d *recording.Directory, partition string) error {
	listener, err := net.Listen("tcp", r.listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	address := listener.Addr().String()
	m, err := moment.New(d, partition, address)
	if err != nil {
		return err
	}
	if r.until != "" {
		err = m.First(r.wanted)
	} else {
		err = r.toTime(m, d, partition)
	}
	if err != nil {
		return err
	}
	at := m.Position()
	_, err = fmt.Fprintf(out, "%s as of %s, after step %d of %s; Ctrl-C ends it\n  dashboard\nhttp://%s/\n",
		at.Partition, at.At.Format(time.RFC3339Nano), at.Step, at.File, address)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m, ReadHeaderTimeout: time.Minute}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// toTime goes to --at.
func (r *replaying) toTime(m *moment.Moments, d *recording.Directory, partition string) error {
	segments := d.Segments[partition]
	at, err := momentOf(r.at, segments[len(segments)-1].From)
	if err != nil {
		return &usageError{err}
	}
	return m.Go(moment.Move{At: &at})
}

// momentOf reads a time, or a time of the day on which the last segment begins.
func momentOf(text string, last time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	last = last.Local()
	for _, form := range []string{"15:04:05", "15:04"} {
		if at, err := time.Parse(form, text); err == nil {
			return time.Date(last.Year(), last.Month(), last.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.Local), nil
		}
	}
	return time.Time{}, fmt.Errorf("--at %q is no time: it would be 14:03, 14:03:05 or 2026-01-02T14:03:05Z", text)
}
