// Package shrink makes what shows something smaller, as long as it shows it.
package shrink

import "slices"

// Least leaves out of a list what is not needed for what holds of it, larger parts first. It holds of what is returned, and not once any
// single element of that is left out. It must hold of the list.
func Least[T any](list []T, holds func([]T) bool) []T {
	for size := max(len(list)/2, 1); size > 0 && len(list) > 0; {
		shorter := false
		for at := 0; at < len(list); {
			end := min(at+size, len(list))
			if rest := slices.Concat(list[:at], list[end:]); holds(rest) {
				list, shorter = rest, true
			} else {
				at = end
			}
		}
		if !shorter || size > 1 {
			size /= 2
		}
	}
	return list
}
