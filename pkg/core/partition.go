package core

import "time"

// stub, see below
type Application struct {
	id    ApplicationID
	state State
	since time.Time
}

type Partition struct{}

// NewPartition makes an empty partition. The configuration must have passed validation.
func NewPartition(options Options, config Config) *Partition { panic("not built yet") }

// Apply carries out one command. It returns what the outside must hear, refusals included.
func (p *Partition) Apply(now time.Time, c Command) Effects { panic("not built yet") }

// Schedule makes placements until nothing more fits or the batch is full.
func (p *Partition) Schedule(now time.Time) (fx Effects, more bool) { panic("not built yet") }

// Due is when Schedule will have something to do although nothing is applied.
func (p *Partition) Due() (time.Time, bool) { panic("not built yet") }

// View is the partition as it is now.
func (p *Partition) View() *View { panic("not built yet") }

// Verify returns the first broken law, or nil.
func (p *Partition) Verify() error { panic("not built yet") }
