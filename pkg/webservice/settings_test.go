package webservice

import (
	"os"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// TestSettings reads a token and networks.
func TestSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	_, err := ReadToken(file)
	assert.ErrorContains(t, err, "token")
	assert.NilError(t, os.WriteFile(file, []byte("\n"), 0o600))
	_, err = ReadToken(file)
	assert.ErrorContains(t, err, "is empty")
	assert.NilError(t, os.WriteFile(file, []byte("secret\n"), 0o600))
	token, err := ReadToken(file)
	assert.NilError(t, err)
	assert.Equal(t, token, "secret")
	_, err = ReadNetworks([]string{"10.0.0.0/8", "10.1.1.1", "here"})
	assert.Error(t, err, `trusted-proxy: "here" is no address and no network`)
}
