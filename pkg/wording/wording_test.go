package wording_test

import (
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/wording"
)

// TestReadable changes amounts where nothing is lost, and nothing else.
func TestReadable(t *testing.T) {
	for text, want := range map[string]string{
		"needs memory=4294967296 vcore=1500":           "needs memory=4Gi vcore=1.5",
		"lacks ephemeral-storage=21474836480 pods=3":   "lacks ephemeral-storage=20Gi pods=3",
		"hugepages-2Mi=2097152, nvidia.com/gpu=4":      "hugepages-2Mi=2Mi, nvidia.com/gpu=4",
		"memory=1025 of memory=0":                      "memory=1025 of memory=0",
		"gpu=500 vcore=-250 memory=-2147483648":        "gpu=0.5 vcore=-0.25 memory=-2Gi",
		"victims found: frees vcore=1000 for vcore=10": "victims found: frees vcore=1 for vcore=0.01",
		"chosen by the resource manager: a, b":         "chosen by the resource manager: a, b",
		"label zone=a and pool=7":                      "label zone=a and pool=7",
		"vcore=99999999999999999999 is left as it was": "vcore=99999999999999999999 is left as it was",
		"vcore=2000 vcore=1 vcore=-1001 vcore=10":      "vcore=2 vcore=0.001 vcore=-1.001 vcore=0.01",
	} {
		assert.Equal(t, wording.Readable(text), want)
	}
}

// TestSeveral: one thing has no s.
func TestSeveral(t *testing.T) {
	assert.Equal(t, wording.Several(0, "error"), "0 errors")
	assert.Equal(t, wording.Several(1, "error"), "1 error")
	assert.Equal(t, wording.Several(12, "error"), "12 errors")
}
