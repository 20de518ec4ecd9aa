package counter

import (
	"slices"
	"testing"
)

var _ = [1]int{}[Size-3]

func TestDown(t *testing.T) {
	if got := Down(3); !slices.Equal(got, []int{3, 2, 1}) {
		t.Error(got)
	}
}

func TestLog(t *testing.T) {
	if got := Log(8); got != 3 {
		t.Error(got)
	}
}

func TestLarger(t *testing.T) {
	t.Run("second", func(t *testing.T) {
		if got := Larger(1, 2); got != 2 {
			t.Error(got)
		}
	})
	if got := Larger(2, 1); got != 2 {
		t.Error(got)
	}
}
