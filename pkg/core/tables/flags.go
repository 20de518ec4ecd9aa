package tables

// Flags say of which objects something holds, by their numbers. They grow to the highest that is set.
type Flags []bool

// Has reports whether a flag is set.
func (f Flags) Has(slot int32) bool { return int(slot) < len(f) && f[slot] }

// Set sets a flag.
func (f *Flags) Set(slot int32) { *At((*[]bool)(f), slot) = true }

// Clear is the opposite of Set.
func (f Flags) Clear(slot int32) {
	if int(slot) < len(f) {
		f[slot] = false
	}
}

// Count is how many flags are set.
func (f Flags) Count() (count int) {
	for _, set := range f {
		if set {
			count++
		}
	}
	return count
}
