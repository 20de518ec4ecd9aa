package scheduler

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/identity"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// What holds where nothing is configured.
const (
	inboxMax      = 1 << 20
	answerTimeout = 30 * time.Second
	settleDelay   = 5 * time.Second
	resolveTime   = 10 * time.Second
	unusedDelay   = time.Hour
)

// Config is what a scheduler depends on. The zero value works; a zero duration
// or count means the default that is named.
type Config struct {
	// Logger takes one line per effect and is not named any further. Nil logs
	// nothing. The keys log.<logger>.level of an extra configuration have parts of it write more
	// or less than the level says.
	Logger *zap.Logger
	// Level is the level of Logger, if it can be changed. The key log.level of
	// the extra configuration of a resource manager sets it.
	Level *zap.AtomicLevel

	// Extra, if set, is given the extra configuration whenever a resource manager sends
	// one, and acts on the keys that the scheduler knows and leaves to others. It is called
	// by the goroutine of the sender. Without it they have no effect, of which the log warns.
	Extra func(extra map[string]string)
	// Defaults are those of configuration texts; the zero value is what is documented.
	Defaults config.Defaults

	// InboxMax bounds what waits for one partition; zero means 1,048,576. It counts
	// entries of requests, asks that scheduling has not come to yet, and messages that
	// wait for a callback to return. A request that would exceed it is refused
	// whole, with an error that wraps ErrInboxFull, unless nothing else waits.
	InboxMax int
	// AnswerTimeout is how long UpdateConfiguration and Stop wait for partitions, since
	// the interface gives them no context; zero means 30 seconds.
	AnswerTimeout time.Duration
	// BatchAllocations is the most placed allocations in one response; zero and
	// one mean one each.
	BatchAllocations int
	// EchoAdopted is for resource managers that wait until an allocation which they reported as
	// running comes back to them as a placement, as a shim of YuniKorn does. Others know what they reported: without
	// it, a placement in a callback is always one to start.
	EchoAdopted bool
	// SkipPredicates is for resource managers without predicates: whatever fits
	// a node may run there, and none of Predicates, PreemptionPredicates and
	// PredicatesWith is asked.
	SkipPredicates bool
	// Record, if set, is given every command of a partition right before it is
	// applied. Partitions call it at the same time as each other, each from its
	// own goroutine. It must not change the command.
	Record func(partition string, at time.Time, command api.Command)
	// Recorder, if set, makes all partitions, and keeps what they are given and do, so that it can be played
	// again: that of package recording. Its owner closes it after Stop.
	Recorder Recorder
	// Events, if set, is told what all partitions do, and resource managers are
	// sent what is news there. The keys event.* of an extra configuration change
	// its limits. Without it, resource managers are sent only the records about nodes,
	// foreign allocations, reservations, nominations, evictions and reports, or none if
	// event.trackingEnabled is false.
	Events *events.History
	// Archive, if set, keeps what all partitions have been.
	Archive *archive.Archive
	// Metrics, if set, counts what partitions do and how long that takes, as the Metrics of package
	// metrics does, whose Watch is left to the caller.
	Metrics Metrics

	// Resolver finds the groups of users in partitions whose usergroupresolver.type is
	// ldap; nil fails there. It is asked for applications that come without groups, by
	// eight goroutines of each partition at most.
	Resolver identity.Resolver
	// ResolveTimeout is how long an application waits for the groups of its user, with all that
	// is sent about it. After that it is rejected, or, if it is forced, has the group nogroup. Zero
	// means ten seconds.
	ResolveTimeout time.Duration

	// PlacementsMax is the most placements after which an owner looks into its
	// inbox; zero means 256.
	PlacementsMax int
	// ReserveDelay is the age at which an ask that fits no node reserves one;
	// zero means two seconds, less than zero that ordinary asks never reserve.
	ReserveDelay time.Duration
	// SettleDelay is how long after a registration, since a node last came or
	// became schedulable, or something that runs was reported, nothing is evicted, at most ten
	// times that since the first; a node that is registered drained takes no ask that
	// requires it for as long, unless it becomes schedulable. Zero means five seconds,
	// less than zero that evictions may begin at once.
	SettleDelay time.Duration
	// EndingMax is how far off the expected end of an allocation may be that ends by itself,
	// from its tags, for its room to be counted on: zero means a minute, less than zero that
	// it always is. Beyond that other room, or victims, are better than to wait for it.
	EndingMax time.Duration
	// ReserveMax is how long a reservation of an ordinary ask lasts; zero means
	// an hour.
	ReserveMax time.Duration
	// CompletingDelay is how long an application without asks and allocations
	// waits for more before it is completed; zero means thirty seconds.
	CompletingDelay time.Duration
	// UnusedDelay is how long an application that never asked for anything is kept, or for nothing
	// since a soft gang timed out. Then it is completed. Zero means an hour, less than zero for ever.
	UnusedDelay time.Duration
	// RetryDelay is how long an ask waits that could not be bound, or that was
	// refused for every node; it doubles with each failure to bind, up to
	// RetryMax. Zero means one second and one minute.
	RetryDelay, RetryMax time.Duration
}

// Validate reports every problem of the configuration at once.
func (c Config) Validate() error {
	var problems []error
	atLeastZero := func(name string, value int64) {
		if value < 0 {
			problems = append(problems, fmt.Errorf("scheduler config: %s is negative", name))
		}
	}
	atLeastZero("InboxMax", int64(c.InboxMax))
	atLeastZero("AnswerTimeout", int64(c.AnswerTimeout))
	atLeastZero("ResolveTimeout", int64(c.ResolveTimeout))
	atLeastZero("BatchAllocations", int64(c.BatchAllocations))
	atLeastZero("PlacementsMax", int64(c.PlacementsMax))
	atLeastZero("ReserveMax", int64(c.ReserveMax))
	atLeastZero("CompletingDelay", int64(c.CompletingDelay))
	atLeastZero("RetryDelay", int64(c.RetryDelay))
	atLeastZero("RetryMax", int64(c.RetryMax))
	if delay := c.Defaults.StartDelay; delay != nil {
		atLeastZero("Defaults.StartDelay", int64(*delay))
	}
	if c.RetryMax > 0 && c.RetryDelay > c.RetryMax {
		problems = append(problems, fmt.Errorf("scheduler config: RetryDelay %v is longer than RetryMax %v", c.RetryDelay, c.RetryMax))
	}
	return errors.Join(problems...)
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.InboxMax == 0 {
		c.InboxMax = inboxMax
	}
	if c.AnswerTimeout == 0 {
		c.AnswerTimeout = answerTimeout
	}
	if c.SettleDelay == 0 {
		c.SettleDelay = settleDelay
	}
	if c.ResolveTimeout == 0 {
		c.ResolveTimeout = resolveTime
	}
	if c.UnusedDelay == 0 {
		c.UnusedDelay = unusedDelay
	}
	if c.BatchAllocations == 0 {
		c.BatchAllocations = 1
	}
	return c
}

// options is the part of the configuration that concerns the core.
func (c Config) options(partition string, kinds *resources.Kinds) api.Options {
	return api.Options{
		Partition:       partition,
		Kinds:           kinds,
		BatchMax:        c.PlacementsMax,
		ReserveDelay:    c.ReserveDelay,
		SettleDelay:     c.SettleDelay,
		EndingMax:       c.EndingMax,
		ReserveMax:      c.ReserveMax,
		CompletingDelay: c.CompletingDelay,
		UnusedDelay:     c.UnusedDelay,
		RetryDelay:      c.RetryDelay,
		RetryMax:        c.RetryMax,
	}
}
