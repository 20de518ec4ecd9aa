package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	siapi "github.com/apache/yunikorn-scheduler-interface/lib/go/api"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// A Configured is a scheduler with one resource manager that keeps the configuration which
// it took last, for a web service to show, and that answers its questions. Its methods may be called from any goroutine.
type Configured struct {
	*Scheduler
	last atomic.Pointer[configuration]
}

// A configuration is what a resource manager sent and the scheduler took.
type configuration struct {
	document *config.Document
	extra    map[string]string
}

var _ siapi.SchedulerAPI = (*Configured)(nil)

// RegisterResourceManager is that of the scheduler.
func (c *Configured) RegisterResourceManager(request *si.RegisterResourceManagerRequest, callback siapi.ResourceManagerCallback) (*si.RegisterResourceManagerResponse, error) {
	response, err := c.Scheduler.RegisterResourceManager(request, callback)
	if err == nil {
		c.keep(request.RmID, request.Config, request.ExtraConfig)
	}
	return response, err
}

// UpdateConfiguration is that of the scheduler.
func (c *Configured) UpdateConfiguration(request *si.UpdateConfigurationRequest) error {
	err := c.Scheduler.UpdateConfiguration(request)
	if err == nil {
		c.keep(request.RmID, request.Config, request.ExtraConfig)
	}
	return err
}

// keep keeps what the scheduler took, so that the text is valid.
func (c *Configured) keep(id, text string, extra map[string]string) {
	before := c.Document()
	document, err := c.Scheduler.config.Defaults.Load(text, nil)
	if err != nil {
		document = before
	}
	c.last.Store(&configuration{document, extra})
	c.note(id, before, document)
}

// note tells the archive what another configuration changes. That of a partition which was not there before
// is its first one.
func (c *Configured) note(id string, before, after *config.Document) {
	books := c.Scheduler.config.Archive
	if books == nil || after == nil {
		return
	}
	lines, was := map[string][]string{}, ""
	if before != nil {
		if was = before.Checksum; was == after.Checksum {
			return
		}
		for _, change := range config.Compare(before, after) {
			lines[change.Partition] = append(lines[change.Partition], change.Text())
		}
	}
	now := time.Now()
	for _, partition := range after.Partitions {
		books.Book(fullName(id, partition.Name)).Reconfigured(now, was, after.Checksum, lines[partition.Name])
	}
}

// Document is the configuration in use, nil before the first.
func (c *Configured) Document() *config.Document {
	if last := c.last.Load(); last != nil {
		return last.document
	}
	return nil
}

// Extra is the further settings in use. The map is not to be changed.
func (c *Configured) Extra() map[string]string {
	if last := c.last.Load(); last != nil {
		return last.extra
	}
	return nil
}

// Validate says what is wrong with a configuration text.
func (c *Configured) Validate(text string) error {
	_, err := c.Scheduler.config.Defaults.Load(text, nil)
	return err
}

// Feasible asks the resource manager of a partition whether an ask that waits may run on a
// node; refused says why not. The error wraps errors.ErrUnsupported if the resource manager
// refuses nothing; an empty key asks for no more than that. It waits like View, and
// placements wait for the answer.
func (c *Configured) Feasible(ctx context.Context, partition string, ask api.AllocationKey, node api.NodeID) (refused, err error) {
	unsupported, err := c.ask(ctx, partition, func(p *core.Partition) error {
		var known bool
		if known, refused = p.MayRun(ask, node); !known {
			return fmt.Errorf("predicates: %w", errors.ErrUnsupported)
		}
		return nil
	})
	if err == nil {
		err = unsupported
	}
	if err != nil {
		return nil, err // the owner may write to refused later
	}
	return refused, nil
}
