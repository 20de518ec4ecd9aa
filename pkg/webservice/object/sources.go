package object

import (
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/archive"
	"github.com/narwhal-scheduler/narwhal/pkg/config"
	"github.com/narwhal-scheduler/narwhal/pkg/events"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// Sources is what objects are made from besides views. All but Kinds and Now may be left out.
type Sources struct {
	Kinds         *resources.Kinds // the table of the kinds in views
	Configuration Configuration
	History       History // of all partitions; nil is that of the archive
	Defaults      config.Defaults
	Archive       *archive.Archive // what partitions have been
	Events        *events.History
	Started       time.Time                                      // when the scheduler was
	Build         func(resourceManager string) map[string]string // versions and the like
	Diagnostics   func(resourceManager string) (string, error)   // of its state, in JSON
	LogLevel      func() string                                  // in words
	Now           func() time.Time
}

// Configuration is the configuration in use.
type Configuration interface {
	// Document is the configuration that passed validation last; it is not
	// changed. Nil means that there is none yet.
	Document() *config.Document
	// Extra are the further settings of the resource manager, by key. The map is
	// not changed.
	Extra() map[string]string
}

// History is what was counted from time to time.
type History interface {
	// Applications and Containers are how many there were in all partitions, the
	// oldest first.
	Applications() []Count
	Containers() []Count
}

// A Count is how many of something there were at one moment.
type Count struct {
	At    time.Time
	Total int64
}

// Document is the configuration in use, or nil.
func (from *Sources) Document() *config.Document {
	if from.Configuration == nil {
		return nil
	}
	return from.Configuration.Document()
}
