package user

import "testing"

func TestFour(t *testing.T) {
	if got := Four(3); got != 12 {
		t.Error(got)
	}
}
