package webservice

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gotest.tools/v3/assert"
)

// TestTokenIsRenewed: what is new in the file counts from a second later on, and the one before does not any more. A file that is empty or gone
// changes nothing.
func TestTokenIsRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		write := func(text string) { assert.NilError(t, os.WriteFile(file, []byte(text), 0o600)) }
		write("first\n")
		admit, err := AdmitTokenIn(file)
		assert.NilError(t, err)
		admits := func(token string) bool { return admit(nil, token) == nil }
		assert.Assert(t, admits("first") && !admits("second") && !admits(""))
		write("second")
		assert.Assert(t, admits("first"))
		time.Sleep(lookPause)
		assert.Assert(t, admits("second") && !admits("first"))
		write("\n")
		time.Sleep(lookPause)
		assert.Assert(t, admits("second") && !admits(""))
		assert.NilError(t, os.Remove(file))
		time.Sleep(lookPause)
		assert.Assert(t, admits("second"))
	})
	admit, err := AdmitTokenIn("")
	assert.Assert(t, admit == nil && err == nil)
	_, err = AdmitTokenIn(filepath.Join(t.TempDir(), "missing"))
	assert.ErrorContains(t, err, "token: open ")
}
