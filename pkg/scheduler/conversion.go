package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// namesMax is the most bytes of a name in a request: of a node, queue,
// application, allocation, user, group or task group.
const namesMax = 1024

// Reasons why an entry of a request is refused, as they are sent to a resource manager.
var (
	errNil              = errors.New("the entry is nil")
	errNoKey            = errors.New("allocation key is missing")
	errNoApplication    = errors.New("application ID is missing")
	errNoNode           = errors.New("node ID is missing")
	errNoUser           = errors.New("user is missing")
	errUnknownPartition = errors.New("is not a partition of the resource manager")
	errForeignUnplaced  = errors.New("a foreign allocation must name the node it runs on")
	errNoTaskGroup      = errors.New("a placeholder must name its task group")
	errUnknownAction    = errors.New("unknown node action")
)

// named checks a name that a request must have.
func named(name string, missing error) error {
	if name == "" {
		return missing
	}
	return short("", name)
}

// short checks the length of a name that may be empty. The text says what it
// names.
func short(what, name string) error {
	if len(name) <= namesMax {
		return nil
	}
	return fmt.Errorf("%s is longer than %d bytes", cmp.Or(what, "name"), namesMax)
}

// A conversion turns one request into messages for partitions. It is where input is
// checked, so that commands in an inbox are well-formed. Everything runs in the
// goroutine of the caller.
type conversion struct {
	id         string            // of the resource manager
	partitions map[string]*owner // of the resource manager, read-only
	fallback   *owner            // hands on refusals that concern no partition
	kinds      *resources.Kinds
	amounts    *sharedAmounts
	tags       *sharedTags
	now        time.Time
	batches    []batch
	warnings   []warning
	read       resources.Amounts // scratch: of the entry that is read
	// to is the partition of the entry before, and named its name there: most requests speak
	// of one partition.
	to    *owner
	named string
	// lastTags are those of the foreign allocation before: most of a request are alike.
	lastTags map[string]string
}

// A warning is about an entry that is taken although something in it is not understood.
type warning struct {
	partition, id string
	problem       string
}

// warn logs the warnings.
func (c *conversion) warn(log *zap.Logger) {
	for _, w := range c.warnings {
		log.Warn("allocation not fully understood", zap.String("resourceManager", c.id),
			zap.String("partition", w.partition), zap.String("id", w.id), zap.String("problem", w.problem))
	}
}

// A batch is the messages of one request for one partition.
type batch struct {
	to       *owner
	messages []message
}

// fullName is the long form of the name of a partition, in lower case but for
// the resource manager, as a configuration is read.
func fullName(id, partition string) string {
	prefix, name := "["+id+"]", partition
	if owner, rest, ok := strings.Cut(partition, "]"); ok && strings.HasPrefix(owner, "[") {
		prefix, name = owner+"]", rest
	}
	if name == "" {
		name = "default"
	}
	return prefix + strings.ToLower(name)
}

// partition finds a partition by the short or long form of its name.
func (c *conversion) partition(name string) (*owner, error) {
	if c.to != nil && c.named == name {
		return c.to, nil
	}
	o, ok := c.partitions[fullName(c.id, name)]
	if !ok {
		return nil, fmt.Errorf("%q %w", name, errUnknownPartition)
	}
	c.to, c.named = o, name
	return o, nil
}

// add appends a message for a partition.
func (c *conversion) add(to *owner, m message) {
	for i := range c.batches {
		if c.batches[i].to == to {
			c.batches[i].messages = append(c.batches[i].messages, m)
			return
		}
	}
	c.batches = append(c.batches, batch{to, []message{m}})
}

// refuse answers an entry, in line with the other answers of its partition. A
// nil partition stands for one that is not known.
func (c *conversion) refuse(to *owner, answer api.Event) {
	if to == nil {
		to = c.fallback
	}
	c.add(to, refusal{answer})
}

// refuseSilently has the refusal of an entry logged for which there is no answer.
func (c *conversion) refuseSilently(to *owner, entry *unanswered) {
	if to == nil {
		to = c.fallback
	}
	c.add(to, entry)
}

// expect makes room for n more messages, as most requests speak of one partition.
func (c *conversion) expect(n int) {
	if n > 0 {
		c.batches = append(c.batches, batch{c.fallback, make([]message, 0, n)})
	}
}

// post appends everything to the inboxes, or nothing: a request that is refused
// can be sent again without being carried out twice.
func (c *conversion) post(limit int) error {
	batches := slices.DeleteFunc(c.batches, func(b batch) bool { return len(b.messages) == 0 })
	// Locks are taken in the order of names, so that requests that speak of
	// several partitions cannot block each other.
	slices.SortFunc(batches, func(a, b batch) int { return cmp.Compare(a.to.name, b.to.name) })
	for _, b := range batches {
		b.to.inbox.mu.Lock()
		defer b.to.inbox.mu.Unlock()
	}
	for _, b := range batches {
		if err := b.to.room(len(b.messages), limit); err != nil {
			return fmt.Errorf("partition %s: %w", b.to.name, err)
		}
	}
	for _, b := range batches {
		b.to.inbox.add(b.messages)
	}
	return nil
}
