package tidy

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strings"
)

// filesOfCycle is the most files of pkg/core that may call each other in a
// circle. The goal is 5.
const filesOfCycle = 5

// A callGraph says which files of a package call which others, and one function
// that is called, for each pair.
type callGraph map[string]map[string]string

// callCycles reports every strongly connected component of the files of pkg/core
// that is larger than filesOfCycle.
func callCycles(t *tree, found report) { callCyclesOver(t, filesOfCycle, found) }

func callCyclesOver(t *tree, most int, found report) {
	graph := calls(t, core)
	for _, component := range graph.components() {
		if len(component) > most {
			found(core, 0, "%d files call each other in a circle, %d are the most: %s", len(component), most, graph.describe(component))
		}
	}
}

// calls type-checks the package in a directory and returns its call graph. Uses of
// a function as a value count as calls; methods of interfaces do not.
func calls(t *tree, dir string) callGraph {
	graph := make(callGraph)
	p := packages{tree: t, checked: make(map[string]*types.Package)}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	files := p.filesOf(dir)
	if len(files) == 0 {
		return graph
	}
	checked := p.check(dir, files, info)
	defined := make(map[types.Object]string)
	for _, f := range files {
		graph[path.Base(f.path)] = make(map[string]string)
	}
	for id, object := range info.Uses {
		function, ok := object.(*types.Func)
		if !ok || function.Pkg() != checked || ofInterface(function) {
			continue
		}
		function = function.Origin()
		if _, ok := defined[function]; !ok {
			defined[function] = path.Base(files[0].set.Position(function.Pos()).Filename)
		}
		from, to := path.Base(files[0].set.Position(id.Pos()).Filename), defined[function]
		if from == to {
			continue
		}
		if name, ok := graph[from][to]; !ok || function.Name() < name {
			graph[from][to] = function.Name()
		}
	}
	return graph
}

func ofInterface(function *types.Func) bool {
	receiver := function.Signature().Recv()
	return receiver != nil && types.IsInterface(receiver.Type())
}

// packages type-checks the packages of a tree. Packages of other modules are taken
// to be empty, and errors are ignored: what does not resolve calls nothing.
type packages struct {
	tree    *tree
	checked map[string]*types.Package
}

func (p packages) filesOf(dir string) []file {
	var files []file
	for _, f := range p.tree.files {
		if f.dir == dir && !f.test {
			files = append(files, f)
		}
	}
	return files
}

// Import makes packages an importer.
func (p packages) Import(name string) (*types.Package, error) {
	if done, ok := p.checked[name]; ok {
		return done, nil
	}
	dir, ours := strings.CutPrefix(name, module)
	if files := p.filesOf(dir); ours && len(files) > 0 {
		return p.check(dir, files, nil), nil
	}
	fake := types.NewPackage(name, path.Base(name))
	fake.MarkComplete()
	p.checked[name] = fake
	return fake, nil
}

func (p packages) check(dir string, files []file, info *types.Info) *types.Package {
	var syntax []*ast.File
	for _, f := range files {
		syntax = append(syntax, f.syntax)
	}
	config := types.Config{Importer: p, Error: func(error) {}}
	checked, _ := config.Check(module+dir, files[0].set, syntax, info) // errors are expected
	p.checked[module+dir] = checked
	return checked
}

// components are the strongly connected components of more than one file, the
// largest first (Tarjan, Depth-first search and linear graph algorithms, 1972).
func (g callGraph) components() [][]string {
	s := scc{graph: g, index: make(map[string]int), low: make(map[string]int)}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if _, seen := s.index[name]; !seen {
			s.visit(name)
		}
	}
	slices.SortStableFunc(s.found, func(a, b []string) int { return cmp.Compare(len(b), len(a)) })
	return s.found
}

type scc struct {
	graph      callGraph
	index, low map[string]int
	stack      []string
	found      [][]string
}

func (s *scc) visit(name string) {
	s.index[name], s.low[name] = len(s.index), len(s.index)
	at := len(s.stack)
	s.stack = append(s.stack, name)
	for _, next := range slices.Sorted(maps.Keys(s.graph[name])) {
		if _, seen := s.index[next]; !seen {
			s.visit(next)
			s.low[name] = min(s.low[name], s.low[next])
		} else if slices.Contains(s.stack, next) {
			s.low[name] = min(s.low[name], s.index[next])
		}
	}
	if s.low[name] < s.index[name] {
		return
	}
	component := slices.Clone(s.stack[at:])
	s.stack = s.stack[:at]
	if len(component) > 1 {
		slices.Sort(component)
		s.found = append(s.found, component)
	}
}

// describe lists the calls inside a component, by file.
func (g callGraph) describe(component []string) string {
	var lines []string
	for _, from := range component {
		var inside []string
		for _, to := range slices.Sorted(maps.Keys(g[from])) {
			if slices.Contains(component, to) {
				inside = append(inside, fmt.Sprintf("%s (%s)", to, g[from][to]))
			}
		}
		lines = append(lines, from+" calls "+strings.Join(inside, ", "))
	}
	return strings.Join(lines, "; ")
}
