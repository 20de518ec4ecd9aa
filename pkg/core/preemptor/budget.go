package preemptor

import "slices"

// fillBudgets resets the allowance of each budget to what it allows now.
func (p *problem) fillBudgets() {
	p.allowed = p.allowed[:0]
	for i := range p.node.Budgets {
		p.allowed = append(p.allowed, int64(max(p.node.Budgets[i].Allowed, 0)))
	}
}

// spend takes one from every budget that c counts for, and reports whether one of
// them was used up before. The least important candidates use the allowance
// first, so the more important ones are the violations.
func (p *problem) spend(c *Candidate) (violating bool) {
	for ; c != nil; c = c.With {
		for _, b := range c.Budgets {
			violating = violating || p.allowed[b] <= 0
			p.allowed[b]--
		}
	}
	return violating
}

func (p *problem) unspend(c *Candidate) {
	for ; c != nil; c = c.With {
		for _, b := range c.Budgets {
			p.allowed[b]++
		}
	}
}

// flagBudgeted flags the candidates that would violate a budget if all candidates
// were removed in order.
func (p *problem) flagBudgeted() {
	if len(p.node.Budgets) == 0 {
		return
	}
	p.fillBudgets()
	for i := range p.ranked {
		e := &p.ranked[i]
		e.violating = p.spend(e.Candidate)
	}
}

// breaksBudget reports whether c violates a budget even if it is the only victim.
func (p *problem) breaksBudget(c *Candidate) bool {
	if len(p.node.Budgets) == 0 {
		return false
	}
	p.fillBudgets()
	return p.spend(c)
}

// budgeted reports whether the victims may exceed no budget.
func (p *problem) budgeted() bool {
	return len(p.node.Budgets) > 0 && p.cfg.Budgets == HardBudgets
}

// countViolations is how many of these victims, which are in order, violate a
// budget.
func (p *problem) countViolations(victims []int) int {
	if len(p.node.Budgets) == 0 {
		return 0
	}
	p.fillBudgets()
	count := 0
	for _, i := range victims {
		if p.spend(p.ranked[i].Candidate) {
			count++
		}
	}
	return count
}

// broken lists the budgets that these victims exceed, by name.
func (p *problem) broken(victims []int) []string {
	if len(p.node.Budgets) == 0 {
		return nil
	}
	p.fillBudgets()
	for _, i := range victims {
		p.spend(p.ranked[i].Candidate)
	}
	var names []string
	for b, left := range p.allowed {
		if left < 0 {
			names = append(names, p.node.Budgets[b].Name)
		}
	}
	slices.Sort(names)
	return names
}
