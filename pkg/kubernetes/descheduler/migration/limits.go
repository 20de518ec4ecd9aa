package migration

import (
	"cmp"

	"k8s.io/apimachinery/pkg/util/intstr"
)

// mostOf is how many pods of a workload a limit allows: a number, or a percentage of its
// replicas, which is at least 1 unless it is 0%. Nothing set is 10% of more than ten
// replicas, 2 of four to ten, and 1 of less.
func mostOf(limit *intstr.IntOrString, replicas int) int {
	if limit == nil {
		switch {
		case replicas > 10:
			return replicas / 10
		case replicas >= 4:
			return 2
		default:
			return 1
		}
	}
	if limit.Type == intstr.Int {
		return limit.IntValue()
	}
	most, err := intstr.GetScaledValueFromIntOrPercent(limit, replicas, false)
	if err != nil {
		return 0 // Validate has refused it
	}
	if most == 0 && limit.StrVal != "0%" {
		return 1
	}
	return most
}

// limits are those of one workload.
type limits struct {
	replicas, migrating, unavailable, inWindow int
}

// limitsOf are the limits of a workload with so many replicas.
func (a *Args) limitsOf(replicas int) limits {
	window := a.ObjectLimiters.Workload.MaxMigrating
	if window == nil {
		window = a.MaxMigratingPerWorkload
	}
	return limits{
		replicas:    replicas,
		migrating:   mostOf(a.MaxMigratingPerWorkload, replicas),
		unavailable: mostOf(a.MaxUnavailablePerWorkload, replicas),
		inWindow:    mostOf(window, replicas),
	}
}

func byText(a, b error) int { return cmp.Compare(a.Error(), b.Error()) }
