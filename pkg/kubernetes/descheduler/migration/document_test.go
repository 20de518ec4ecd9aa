package migration

import (
	"os"
	"regexp"
	"testing"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

const document = "../../../../docs/descheduler.md"

// TestDocumentNamesPhasesAndReasons: the document explains what a user reads of a job.
func TestDocumentNamesPhasesAndReasons(t *testing.T) {
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	source, err := os.ReadFile("job.go")
	assert.NilError(t, err)
	found := regexp.MustCompile(`(?m)^\t\w+ +(?:Reason|Phase) += "(\w+)"`).FindAllSubmatch(source, -1)
	assert.Equal(t, len(found), 20)
	for _, name := range found {
		row := regexp.MustCompile("(?m)^\\| [^|]*`" + string(name[1]) + "`")
		assert.Assert(t, row.Match(text), "no table of %s begins a row with %s", document, name[1])
	}
}

// TestJobOfTheDocument can be read as it stands there.
func TestJobOfTheDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	assert.NilError(t, err)
	example := regexp.MustCompile("(?s)```yaml\n(apiVersion: " + Domain + "/.*?)```").FindSubmatch(text)
	assert.Assert(t, example != nil)
	job := new(Job)
	assert.NilError(t, yaml.UnmarshalStrict(example[1], job))
	assert.Equal(t, job.APIVersion, Domain+"/"+Version)
	assert.Equal(t, job.Kind, Kind)
	assert.Equal(t, job.mode(), ReservationFirst)
	assert.Equal(t, job.ttl().Duration.String(), "10m0s")
}
