package scheduler

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/yunikorn-scheduler-interface/lib/go/common"
	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
)

// TestEveryTagAndInterfaceIsInDocs looks for each tag, and each interface that a callback may have,
// in the table of docs/embedding.md.
func TestEveryTagAndInterfaceIsInDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/embedding.md")
	assert.NilError(t, err)
	names := []string{ // of the scheduler-interface
		common.NodePartition, common.Foreign, common.CreationTime, common.DomainYuniKorn + common.CreationTime, tagRequiredNode, common.AppTagCreateForce,
		common.AppTagNamespaceResourceQuota, common.AppTagNamespaceResourceGuaranteed, common.AppTagNamespaceResourceMaxApps, TagUpdate, "ready",
	}
	names = append(names, namesIn(t, "../core/api/*.go")...)
	names = append(names, namesIn(t, "capabilities.go")...)
	assert.Assert(t, len(names) > 30, "%q", names)
	for _, name := range names {
		assert.Assert(t, strings.Contains(string(page), "`"+name+"`"), "docs/embedding.md does not name %s", name)
	}
	assert.Equal(t, int32(api.SchedulingFailed), int32(5)) // as the page says
}

// namesIn are the values of constants with names that begin with Tag, and the names of interfaces, in some files.
func namesIn(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	assert.NilError(t, err)
	var names []string
	for _, file := range files {
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		assert.NilError(t, err)
		ast.Inspect(syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if _, is := n.Type.(*ast.InterfaceType); is && pattern == "capabilities.go" {
					names = append(names, n.Name.Name)
				}
			case *ast.ValueSpec:
				if value, is := firstOf(n.Values).(*ast.BasicLit); is && strings.HasPrefix(n.Names[0].Name, "Tag") {
					text, err := strconv.Unquote(value.Value)
					assert.NilError(t, err)
					names = append(names, text)
				}
			}
			return true
		})
	}
	return names
}

// firstOf is the first of some expressions, or nil.
func firstOf(all []ast.Expr) ast.Expr {
	if len(all) == 0 {
		return nil
	}
	return all[0]
}
