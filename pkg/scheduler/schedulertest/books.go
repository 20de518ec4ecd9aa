package schedulertest

import (
	"context"
	"strings"
)

// A check of all books takes as long as there is much in them, so a test that settles often
// has them checked each time at first, then every so many times, and when it ends.
const (
	checkedEach  = 500
	checkedEvery = 20
)

// checkBooks ends the test if the books of a partition of the resource manager are broken.
func checkBooks(m *MockScheduler) {
	m.t.Helper()
	for _, partition := range m.Partitions() {
		if !strings.HasPrefix(partition, "["+m.options.ID+"]") {
			continue
		}
		if err := m.Verify(context.Background(), partition); err != nil {
			m.t.Fatalf("schedulertest: books of partition %s: %v", partition, err)
		}
	}
}
