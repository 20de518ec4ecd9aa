package broken

import "testing"

func TestOne(t *testing.T) {
	if got := One(); got != 2 {
		t.Error(got)
	}
}
