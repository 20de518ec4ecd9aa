// Package broken has a test that fails as it is.
package broken

// One is not two.
func One() int { return 1 }
