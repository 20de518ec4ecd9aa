package core

import "time"

// A step is one call of Apply or Schedule: its time, its limits, and its effects.
type step struct {
	now      time.Time
	batch    uint64 // number of the Schedule call
	left     int    // placements that it may still make
	expected int    // events that are likely to be told
	effects  Effects
}

// tell adds an event to the effects of this step. Those of one batch take one
// slice.
func (s *step) tell(e Event) {
	if s.effects == nil {
		s.effects = make(Effects, 0, max(1, s.expected))
	}
	s.effects = append(s.effects, e)
}

func (s *step) takeEffects() Effects {
	effects := s.effects
	s.effects = nil
	return effects
}
