package core

import "slices"

// groups checks that what is tried later of groups and gangs is listed for that.
func checkGroups(v *verifier) {
	for _, g := range v.p.Together {
		if g.Waits && !slices.Contains(v.p.groupWork.waiting, g) {
			v.breaks("group %s waits for nothing", g.Name)
		}
	}
	for app := range v.p.Applications.Ascend {
		if app.Gang == nil {
			continue
		}
		for _, task := range app.Gang.Groups {
			if r := v.p.nextToHold(task); v.settled && (r != nil || task.Held.Len() > task.Left()) {
				v.breaks("task group %s: %d asks wait for %d placeholders, and another one is to: %t", task.Name, task.Held.Len(), task.Left(), r != nil)
			}
		}
	}
}
