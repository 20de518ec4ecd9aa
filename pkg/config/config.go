package config

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Bounds on what a text may ask for, far above what clusters need.
const (
	TextMax       = 4 << 20   // bytes of text
	PartitionsMax = 1000      // partitions, each of which has a goroutine
	QueuesMax     = 50_000    // queues of all partitions
	DepthMax      = 32        // queues below each other, root included
	PropertiesMax = 64        // properties of one queue
	nodesMax      = 1_000_000 // YAML values, counting what aliases repeat
	problemsMax   = 10_000    // problems shown of each severity
)

// Default is the configuration that the empty text stands for: one partition
// in which each namespace has a queue of its own, made when its first application comes, and
// other applications go to the queue default.
const Default = `partitions:
  - name: default
    placementrules:
      - name: tag
        value: namespace
        create: true
    queues:
      - name: root
        submitacl: '*'
        queues:
          - name: default
`

// A Document is a configuration that passed validation.
type Document struct {
	// Partitions are what partitions are made or reconfigured with, in the
	// order of the text. They are not changed after Load: copy one to
	// change it.
	Partitions []api.Config
	// Definitions are the same partitions as they were written, with the keys
	// that have no effect yet.
	Definitions []Partition
	// Warnings are the problems that do not refuse the configuration.
	Warnings Problems
	// Checksum identifies the text: two documents with the same checksum
	// configure the same.
	Checksum string
	// Text is the text that was loaded; Default if that was empty.
	Text string
}

// Defaults are values of keys that a text leaves out, for programs whose users expect
// others than those of this package. The zero value is what the documentation says.
type Defaults struct {
	// StartDelay is preemption_start_delay, at least 0; nil is 30s.
	StartDelay *time.Duration
	// Closed says that in a partition without any access list no user may submit, rather
	// than every user.
	Closed bool
	// Priority is preemption_priority; VictimsByAge is preemption_victim_order: age, and
	// SpareForeign is preemption_foreign_pods: false.
	Priority     api.PriorityPreemption
	VictimsByAge bool
	SpareForeign bool
}

// LikeYuniKorn are the defaults of YuniKorn: nothing is preempted for its priority alone, of
// equal victims the youngest are the first, pods of other schedulers are none, room for
// daemonsets is made at once, and without an access list no user may submit.
func LikeYuniKorn() Defaults {
	return Defaults{StartDelay: new(time.Duration), Closed: true, Priority: api.PriorityOff, VictimsByAge: true, SpareForeign: true}
}

// Load is Load of Defaults that are the documented ones.
func Load(text string, kinds *resources.Kinds) (*Document, error) {
	return Defaults{}.Load(text, kinds)
}

// Load reads and validates a configuration. Quantities are in the kinds of the
// given table, to which kinds are added only if the text is right. If it is not, the
// error is of type Problems and lists everything that is wrong.
func (d Defaults) Load(text string, kinds *resources.Kinds) (*Document, error) {
	if text == "" {
		text = Default
	}
	read := &reader{defaults: d}
	if kinds == nil {
		kinds = new(resources.Kinds)
	}
	document := &Document{Text: text, Checksum: Checksum(text)}
	document.Definitions = read.document(text)
	for i := range document.Definitions {
		read.checkPartition(&document.Definitions[i])
	}
	if !read.failed() {
		document.Partitions = read.build(document.Definitions, kinds)
	}
	read.problems.sort()
	if read.failed() {
		return nil, read.problems
	}
	document.Warnings = read.problems
	return document, nil
}

// checksumLine is a checksum inside a text. It is no part of what is summed,
// so that a text can hold its own.
var checksumLine = regexp.MustCompile(`(?m)^checksum: [0-9A-Fa-f]{64}`)

// Checksum is the upper-case hexadecimal SHA-256 of a text without the checksum
// that may stand in it.
func Checksum(text string) string {
	if at := checksumLine.FindStringIndex(text); at != nil {
		text = text[:at[0]] + text[at[1]:]
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToUpper(hex.EncodeToString(sum[:]))
}
