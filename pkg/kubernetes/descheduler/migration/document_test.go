package migration

import (
	"os"
	"regexp"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	"sigs.k8s.io/yaml"
)

const definition = "../../../../docs/deploy/descheduler/crd.yaml"

// A jobSchema is what is read of the schema of jobs.
type jobSchema struct {
	Description string               `json:"description"`
	Pattern     string               `json:"pattern"`
	Properties  map[string]jobSchema `json:"properties"`
	Items       *jobSchema           `json:"items"`
}

// schemaOfJobs is that of the custom resource definition.
func schemaOfJobs(t *testing.T) jobSchema {
	t.Helper()
	text, err := os.ReadFile(definition)
	assert.NilError(t, err)
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema jobSchema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	assert.NilError(t, yaml.Unmarshal(text, &crd))
	assert.Equal(t, len(crd.Spec.Versions), 1)
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// TestFieldsOfJobsAreDescribed, so that kubectl explain says what each is.
func TestFieldsOfJobsAreDescribed(t *testing.T) {
	fields := 0
	var look func(path string, of jobSchema)
	look = func(path string, of jobSchema) {
		for name, field := range of.Properties {
			fields++
			assert.Check(t, field.Description != "" || path+name == "metadata", path+name)
			look(path+name+".", field)
		}
		if of.Items != nil {
			assert.Check(t, of.Items.Description != "", path)
			look(path, *of.Items)
		}
	}
	look("", schemaOfJobs(t))
	assert.Assert(t, fields > 40, "%d", fields)
}

// TestPatternOfTTL: the API server accepts the durations that can be read, and no other text.
func TestPatternOfTTL(t *testing.T) {
	pattern := regexp.MustCompile(schemaOfJobs(t).Properties["spec"].Properties["ttl"].Pattern)
	for _, ttl := range []string{
		"0", "-0", "+0", "0s", "5m", "1h30m", "-1s", "+1s", "1.5h", ".5s", "1.s", "1h2m3s4ms5us6µs7μs8ns",
		"", "5", "5 m", "m", "1d", "-", "1h30", "1h-30m", "00", "0.0", "five minutes", ".s", "5m ",
	} {
		_, err := time.ParseDuration(ttl)
		assert.Check(t, pattern.MatchString(ttl) == (err == nil), "%q: %v", ttl, err)
	}
}

const document = "../../../../docs/migrations.md"

// TestPhasesAndReasonsAreDescribed, so that kubectl explain says what a user reads of a job.
func TestPhasesAndReasonsAreDescribed(t *testing.T) {
	status := schemaOfJobs(t).Properties["status"].Properties
	described := status["phase"].Description + " " + status["reason"].Description
	source, err := os.ReadFile("job.go")
	assert.NilError(t, err)
	found := regexp.MustCompile(`(?m)^\t\w+ +(?:Reason|Phase) += "(\w+)"`).FindAllSubmatch(source, -1)
	assert.Equal(t, len(found), 23)
	for _, name := range found {
		assert.Check(t, regexp.MustCompile(`\b`+string(name[1])+`(, \w+)? - `).MatchString(described), "%s is not described", name[1])
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
