package resources

import "fmt"

// Share is the same table for one of several users, such as a resource manager. It makes a
// kind known as long as it has not made more known than are left for all. So one that makes
// many known takes half of the table at most, and one that made few known can go on.
//
//	brought <= KindsMax - Len, when a kind is added
//
// What a user brought stays known when the user goes: amounts are lists by the number of a
// kind, and views, event records and the archive hold such lists, so a number that got
// another name would make them say what never was.
func (k *Kinds) Share() *Kinds { return &Kinds{of: k} }

// internShared adds a kind to the table that is shared.
func (k *Kinds) internShared(name string) (Kind, error) {
	k.grow.Lock()
	defer k.grow.Unlock()
	if kind, ok := k.Lookup(name); ok {
		return kind, nil
	}
	if left := KindsMax - k.Len(); k.brought >= left && name != UnknownKind {
		return 0, fmt.Errorf("resource kind %q: %w, %d were made known by the same sender and %d are left for all", name, ErrTooManyKinds, k.brought, left)
	}
	kind, err := k.of.Intern(name)
	if err == nil {
		k.brought++
	}
	return kind, err
}
