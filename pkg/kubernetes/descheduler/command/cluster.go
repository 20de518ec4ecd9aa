package command

import (
	"fmt"
	"os"
	"strings"
	"time"

	"go.uber.org/zap"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/descheduler/clusterfile"
	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/internal/replica"
)

// clusterFile is a cluster that is in a file. The zero value is none.
type clusterFile struct {
	name string
	at   string // the time of the cluster, RFC 3339; empty: the present
}

// clock is the time of the cluster: it goes on from when the file is of.
func (c *clusterFile) clock() (clock.WithTicker, error) {
	if c.at == "" {
		return clock.RealClock{}, nil
	}
	at, err := time.Parse(time.RFC3339, c.at)
	if err != nil {
		return nil, fmt.Errorf("cluster-time: must be a time such as 2026-01-02T15:04:05Z, not %q", c.at)
	}
	if c.name == "" {
		return nil, fmt.Errorf("cluster-time: only a cluster file has another time than the present; give --cluster-file")
	}
	return shifted{clock.RealClock{}, time.Until(at)}, nil
}

// A shifted clock is ahead of the real one, or behind where by is negative.
type shifted struct {
	clock.RealClock
	by time.Duration
}

// Now implements clock.PassiveClock.
func (s shifted) Now() time.Time { return s.RealClock.Now().Add(s.by) }

// Since implements clock.PassiveClock.
func (s shifted) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// cluster is how to reach the API server, or the file in its place.
func (s *settings) cluster(log *zap.Logger) (*rest.Config, error) {
	if s.from.name == "" {
		return replica.ClientConfig(s.kubeconfig, program)
	}
	text, err := os.ReadFile(s.from.name)
	if err != nil {
		return nil, fmt.Errorf("cluster-file: %w", err)
	}
	now, err := s.from.clock()
	if err != nil {
		return nil, err
	}
	objects, unknown, err := clusterfile.Read(now.Now(), text)
	if err != nil {
		return nil, fmt.Errorf("cluster-file: %s: %w", s.from.name, err)
	}
	if len(unknown) > 0 && !s.lenient {
		return nil, fmt.Errorf("cluster-file: %s: %s", s.from.name, strings.Join(unknown, "\n"))
	}
	for _, u := range unknown {
		log.Warn("unknown field in the cluster file", zap.String("problem", u))
	}
	objects.Version = strings.Replace(clientVersion(), "v0.", "v1.", 1)
	return &rest.Config{Host: "http://cluster-file", Transport: objects}, nil
}
