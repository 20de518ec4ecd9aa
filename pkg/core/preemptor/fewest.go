package preemptor

// fewest is a search for the fewest violations.
type fewest struct{}

func (p *plan) violateFewer() {}
