package shim

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"
	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// requestMax is the most entries of one request.
const requestMax = 1000

// A message is one entry of a request to the core. One of its fields is set.
type message struct {
	node        *si.NodeInfo
	application *si.AddApplicationRequest
	allocation  *si.Allocation
	release     *si.AllocationRelease
}

// kind tells messages apart that go into different requests.
func (m message) kind() int {
	switch {
	case m.node != nil:
		return 0
	case m.application != nil:
		return 1
	case m.allocation != nil:
		return 2
	default:
		return 3
	}
}

// A sender passes messages on to the core in the order in which they were put, and never
// loses one: a request that is refused because too much waits there is sent again.
//
// It has a goroutine of its own, so that many messages become one request, and so that a
// full inbox holds up no informer. What waits here is bounded by what changes in the
// cluster while the core is busy.
type sender struct {
	core api.SchedulerAPI
	rmID string
	log  *zap.Logger

	mu        sync.Mutex
	waiting   []message
	gathering bool          // more comes that belongs to what waits
	wake      chan struct{} // capacity one: something waits
}

func newSender(core api.SchedulerAPI, rmID string, log *zap.Logger) *sender {
	return &sender{core: core, rmID: rmID, log: log, wake: make(chan struct{}, 1)}
}

// put appends messages. It never blocks.
func (s *sender) put(messages ...message) {
	s.mu.Lock()
	s.waiting = append(s.waiting, messages...)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// together has the messages that a function puts become one request, if they are of one kind, so that the core sees no part of what they
// say. One function does at a time.
func (s *sender) together(puts func()) {
	s.gather(true)
	puts()
	s.gather(false)
	s.put()
}

func (s *sender) gather(more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gathering = more
}

// length is how many messages wait.
func (s *sender) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}

// run sends until the context ends.
func (s *sender) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		all := s.take()
		for len(all) > 0 && ctx.Err() == nil {
			n := runOf(all)
			s.send(ctx, all[:n])
			all = all[n:]
		}
	}
}

// take takes what waits, unless more comes that belongs to it: then there is a wake to come.
func (s *sender) take() (all []message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gathering {
		all, s.waiting = s.waiting, nil
	}
	return all
}

// runOf is how many messages at the head go into one request. A request is carried out
// allocations first, so allocations may precede releases and not follow them.
func runOf(all []message) int {
	kind, n := all[0].kind(), 1
	for n < len(all) && n < requestMax && all[n].kind() == kind {
		n++
	}
	return n
}

// send sends one request until it is taken.
func (s *sender) send(ctx context.Context, run []message) {
	request := s.request(run)
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		err := request()
		switch {
		case err == nil:
			return
		case errors.Is(err, scheduler.ErrStopped) && ctx.Err() != nil:
			return
		case !errors.Is(err, scheduler.ErrInboxFull):
			s.log.Error("request was not taken", zap.Int("entries", len(run)), zap.Error(err))
			return
		}
		s.log.Warn("request waits for the scheduler core", zap.Int("entries", len(run)), zap.Duration("pause", delay))
		if !pause(ctx, delay) {
			return
		}
	}
}

// request makes a request of messages of one kind.
func (s *sender) request(run []message) func() error {
	switch {
	case run[0].node != nil:
		request := &si.NodeRequest{RmID: s.rmID}
		for _, m := range run {
			request.Nodes = append(request.Nodes, m.node)
		}
		return func() error { return s.core.UpdateNode(request) }
	case run[0].application != nil:
		request := &si.ApplicationRequest{RmID: s.rmID}
		for _, m := range run {
			request.New = append(request.New, m.application)
		}
		return func() error { return s.core.UpdateApplication(request) }
	case run[0].allocation != nil:
		request := &si.AllocationRequest{RmID: s.rmID}
		for _, m := range run {
			request.Allocations = append(request.Allocations, m.allocation)
		}
		return func() error { return s.core.UpdateAllocation(request) }
	default:
		releases := new(si.AllocationReleasesRequest)
		for _, m := range run {
			releases.AllocationsToRelease = append(releases.AllocationsToRelease, m.release)
		}
		request := &si.AllocationRequest{RmID: s.rmID, Releases: releases}
		return func() error { return s.core.UpdateAllocation(request) }
	}
}

// pause waits and returns false if the context ends before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
