// Package counter counts, for a test of what tests find.
package counter

// Down lists the numbers from n to one.
func Down(n int) []int {
	var list []int
	for n > 0 {
		list = append(list, n)
		n--
	}
	return list
}

// Log is how often a number can be halved.
func Log(n int) int {
	times := 0
	for n > 1 {
		n >>= 1
		times++
	}
	return times
}

// Larger is the larger number.
func Larger(a, b int) int {
	if a < b {
		return b
	}
	return a
}

// Twice is tested where it is used.
func Twice(n int) int { return n * 2 }

// Half has no test.
func Half(n int) int {
	half := n / 2
	return half
}

// Size is a constant that the test needs to compile.
const Size = 3
