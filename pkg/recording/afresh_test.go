package recording

// RenewAfresh has the next step of a partition that is recorded begin a segment, with an image of the partition.
func RenewAfresh(steps any) {
	t := steps.(*tape)
	t.afresh.Store(true)
	t.Renew()
}
