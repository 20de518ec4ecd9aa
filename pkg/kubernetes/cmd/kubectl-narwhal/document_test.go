package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

// TestCommandsOfTheDocument runs the commands that the page of Kubernetes names, of a pod and a node of the cluster of these tests.
func TestCommandsOfTheDocument(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/kubernetes.md")
	assert.NilError(t, err)
	lines := regexp.MustCompile(`(?m)^kubectl narwhal ([^#\n]*)`).FindAllStringSubmatch(string(page), -1)
	assert.Equal(t, len(lines), 9)
	for _, line := range lines {
		command := strings.NewReplacer("pod/web", "pod/agent-1", "job.yaml", "-", "node-7", "node-2").Replace(strings.TrimSpace(line[1]))
		out, _, err := play(t, jobAndPod, strings.Fields(command)...)
		assert.NilError(t, err, "%s: %s", command, out)
		assert.Assert(t, out != "", command)
	}
}
