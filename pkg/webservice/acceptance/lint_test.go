package acceptance

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"gotest.tools/v3/assert"
)

// linters are programs that judge documents of OpenAPI, by the npm packages that bring them.
// Two of them also check that the examples fit the schemas.
var linters = []struct {
	name, npm string
	arguments []string
}{
	{"redocly", "@redocly/cli", []string{"lint", "--extends=recommended"}},
	{"spectral", "@stoplight/spectral-cli", []string{"lint", "--fail-severity=error", "--ruleset=testdata/spectral.yaml"}},
	{"validate-api", "@seriousme/openapi-schema-validator", nil},
}

// TestOpenAPILints: programs that others use find no error in the document, examples
// included.
func TestOpenAPILints(t *testing.T) {
	t.Parallel()
	for _, linter := range linters {
		t.Run(linter.name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(linter.name)
			if err != nil {
				t.Skipf("the document was NOT checked by %s: it is not in PATH; npm install -g %s brings it", linter.name, linter.npm)
			}
			document, err := filepath.Abs("../../../docs/openapi.yaml")
			assert.NilError(t, err)
			lint := exec.Command(program, append(linter.arguments, document)...)
			lint.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true", "CI=true")
			said, err := lint.CombinedOutput()
			assert.NilError(t, err, "%s", said)
		})
	}
}
