package webservice

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/failure"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/object"
)

// readerWait is how long a request waits for the first view of a partition. All
// later ones come at once, if need be with their age.
const readerWait = 10 * time.Second

// requestViews is the views that a request is answered from. They are taken before
// the request waits for its turn to be answered, so that a busy partition holds up
// no request for another one.
type requestViews []requestView

type requestView struct {
	partition  string
	view       *api.View     // nil with an error
	age        time.Duration // zero if it is the current one
	err        error
	within     []api.QueuePath // of which alone the request may know; nil is all
	unanswered time.Duration   // only for the health check: how long the partition has not answered
}

// A reader takes views for requests.
type reader struct{ config *Config }

type viewsKey struct{}

// withViews takes the views of some partitions, and gives them to a request.
func (rd *reader) withViews(r *http.Request, partitions ...string) *http.Request {
	return takeViews(r, partitions, rd.read)
}

// takeViews reads some partitions at the same time, for a request.
func takeViews(r *http.Request, partitions []string, read func(context.Context, string) requestView) *http.Request {
	views := make(requestViews, len(partitions))
	var reading sync.WaitGroup
	for i, full := range partitions {
		reading.Go(func() { views[i] = read(r.Context(), full) })
	}
	reading.Wait()
	return r.WithContext(context.WithValue(r.Context(), viewsKey{}, views))
}

// read is a partition as it is, or as it was a moment ago if it is busy.
func (rd *reader) read(ctx context.Context, partition string) requestView {
	ctx, cancel := context.WithTimeout(ctx, readerWait)
	defer cancel()
	snapshot, err := rd.config.Views.Snapshot(ctx, partition)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("partition %s %w for %s", partition, errUnanswered, max(readerWait, rd.config.Views.Unanswered(partition)).Round(time.Second))
	}
	return requestView{partition: partition, view: snapshot.View, age: snapshot.Age, err: err}
}

func viewsOf(r *http.Request) requestViews {
	views, _ := r.Context().Value(viewsKey{}).(requestViews)
	return views
}

// name tells the views of requests apart.
func (views requestViews) name() string {
	var name strings.Builder
	for _, v := range views {
		fmt.Fprintf(&name, "\n%p %t %q", v.view, v.unanswered > 0, v.within)
	}
	return name.String()
}

// describe says in the head how old the oldest view is, in whole seconds, if it is
// not the current one.
func (views requestViews) describe(head http.Header) {
	var age time.Duration
	for _, v := range views {
		age = max(age, v.age)
	}
	if age > 0 {
		head.Set("Age", strconv.FormatInt(int64((age+time.Second-1)/time.Second), 10))
	}
}

// snapshot is the partition that a request is about.
func (rd *reader) snapshot(r *http.Request) (*object.Snapshot, error) {
	views := viewsOf(r)
	if len(views) == 0 {
		return nil, failure.Missing("Partition")
	}
	return rd.look(views[0])
}

// look makes the snapshot of one partition.
func (rd *reader) look(v requestView) (*object.Snapshot, error) {
	if v.err != nil {
		if !slices.Contains(rd.config.Views.Partitions(), v.partition) {
			return nil, failure.Missing("Partition") // it was there a moment ago
		}
		return nil, fmt.Errorf("%w: %w", failure.ErrUnavailable, v.err)
	}
	at := rd.config.sources().Snapshot(v.partition, v.view, v.age)
	if v.within != nil {
		at = at.Within(v.within)
	}
	return at, nil
}

// all is the snapshots of all partitions, in the order of their names. One that
// is removed meanwhile is left out.
func (rd *reader) all(r *http.Request) ([]*object.Snapshot, error) {
	var out []*object.Snapshot
	for _, v := range viewsOf(r) {
		at, err := rd.look(v)
		if err == nil {
			out = append(out, at)
		} else if failure.StatusOf(err) != failure.StatusOf(failure.ErrMissing) {
			return nil, err
		}
	}
	return out, nil
}
