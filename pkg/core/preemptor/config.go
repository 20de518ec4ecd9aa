package preemptor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config bounds the plans of a partition. The delay, the strategies and how many
// victims there may be are for the trigger RequiredNode; the others start at
// once, have strategies of their own, and take as many victims as are needed.
type Config struct {
	Disabled     bool          // nothing is preempted
	StartDelay   time.Duration // age at which a reservation may preempt; zero is at once
	Strategies   []Strategy    // tried in this order, until one chooses
	DeviationMax int64         // percent that a single victim may hold more than the ask, of the worst kind
	VictimsMax   int           // most victims of one plan
	SpareForeign bool          // foreign allocations are not preempted; only the trigger RequiredNode can preempt them at all
	EqualsToo    bool          // with the trigger Priority: victims may be of the same priority as the ask
	ByQoS        bool          // of candidates of the same priority, the lower class of service is preempted first
	Budgets      BudgetPolicy
	StepsMax     int64 // most steps of minimal's search among more than ProvedMax candidates; zero is as by default
}

// The limits of a configuration.
const (
	VictimsLimit = 256 // of VictimsMax

	// ProvedMax is the number of candidates up to which the result of minimal is
	// always proved to be optimal.
	ProvedMax = 64
)

// DefaultConfig is what holds where nothing is configured.
func DefaultConfig() Config {
	return Config{
		StartDelay:   30 * time.Second,
		Strategies:   []Strategy{Single, Multiple, Minimal},
		DeviationMax: 10,
		VictimsMax:   10,
		StepsMax:     40_000,
	}
}

// Validate reports every problem of the configuration, joined, or nil.
func (c Config) Validate() error {
	var problems []error
	problem := func(broken bool, format string, args ...any) {
		if broken {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	problem(c.StartDelay < 0, "start delay %s is negative", c.StartDelay)
	problem(len(c.Strategies) == 0, "no strategy to select victims")
	for i, s := range c.Strategies {
		problem(s >= configurable, "%s is unknown", s)
		problem(slices.Contains(c.Strategies[:i], s), "strategy %s is given twice", s)
	}
	problem(c.DeviationMax < 0, "deviation %d percent is negative", c.DeviationMax)
	problem(c.VictimsMax < 1 || c.VictimsMax > VictimsLimit, "victims %d are not between 1 and %d", c.VictimsMax, VictimsLimit)
	problem(c.Budgets > HardBudgets, "budget policy %d is unknown", c.Budgets)
	problem(c.StepsMax < 1, "steps %d of a search are less than 1", c.StepsMax)
	return errors.Join(problems...)
}

// Strategy is a way to select victims.
type Strategy uint8

// The strategies.
const (
	Single Strategy = iota
	Multiple
	Minimal
	Reprieve // cannot be configured; operators read it as "most important stay"
)

// configurable is how many strategies a configuration may name.
const configurable = Reprieve

// strategies is every strategy there is.
var strategies = [...]struct {
	name   string
	choose func(*plan) choice
}{
	Single:   {"single", (*plan).single},
	Multiple: {"multiple", (*plan).multiple},
	Minimal:  {"minimal", (*plan).minimal},
	Reprieve: {"most important stay", (*plan).reprieve},
}

// String is the name by which a configuration knows the strategy, and operators read it.
func (s Strategy) String() string {
	if int(s) >= len(strategies) {
		return fmt.Sprintf("strategy %d", uint8(s))
	}
	return strategies[s].name
}

// ParseStrategies reads names of strategies with commas between them, such as
// "single,multiple,minimal": one or more, in any order, none twice.
func ParseStrategies(text string) ([]Strategy, error) {
	var list []Strategy
	var problems []error
	for _, word := range strings.Split(text, ",") {
		name := strings.TrimSpace(word)
		s, ok := strategyOf(name)
		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("strategy %q is unknown; known are %s", name, strategyNames()))
		case slices.Contains(list, s):
			problems = append(problems, fmt.Errorf("strategy %s is given twice", name))
		default:
			list = append(list, s)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return list, nil
}

func strategyOf(name string) (Strategy, bool) {
	for s := range configurable {
		if strategies[s].name == name {
			return s, true
		}
	}
	return 0, false
}

func strategyNames() string {
	var names []string
	for _, s := range strategies[:configurable] {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// BudgetPolicy says how disruption budgets are weighed against priorities.
type BudgetPolicy uint8

// The budget policies. With PreferBudgets, violations are avoided before
// priorities are compared, and accepted if there is no other way. With
// StrictPriority, budgets decide between victims of the same priority. With
// HardBudgets, a candidate that is protected by a budget is no victim.
const (
	PreferBudgets BudgetPolicy = iota
	StrictPriority
	HardBudgets
)
