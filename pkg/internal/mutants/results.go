package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A record is a line of the file of results.
type record struct {
	Tree    string  `json:"tree"` // what was tested, see fingerprint
	Fault   string  `json:"fault"`
	Outcome outcome `json:"outcome"`
	By      string  `json:"by,omitempty"`
	Seconds float64 `json:"seconds"`
}

// A journal is the file of results. Every fault is written when it is done, so that a
// run that was ended goes on where it was.
type journal struct {
	file  *os.File
	tree  string
	known map[string]record
}

// openJournal reads the results that were found on the same tree. With keep, what was
// killed stays killed on another tree; the rest is run again.
func openJournal(path, tree string, keep bool) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	j := &journal{file: file, tree: tree, known: make(map[string]record)}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var r record
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			continue // the end of a run that was killed while it wrote
		}
		if r.Tree == tree || keep && r.Outcome == killed {
			j.known[r.Fault] = r
		}
	}
	return j, lines.Err()
}

// add writes one result.
func (j *journal) add(r record) error {
	r.Tree = j.tree
	j.known[r.Fault] = r
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return err
}

func (j *journal) close() error { return j.file.Close() }

// fingerprint is a number for the code and the tests of a module. A directory does
// not count: that of this program.
func fingerprint(root, without string) (string, error) {
	h := fnv.New64a()
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		inside := strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(name, root)), "/")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && inside != "" && (strings.HasPrefix(entry.Name(), ".") || inside == without):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		case filepath.Ext(name) != ".go" && entry.Name() != "go.mod" && !strings.Contains("/"+inside, "/testdata/"):
			return nil
		}
		content, err := os.ReadFile(name)
		fmt.Fprintf(h, "%s %d\n%s", inside, len(content), content)
		return err
	})
	if err != nil {
		return "", errors.Join(errors.New("reading the module"), err)
	}
	return fmt.Sprintf("%016x", h.Sum64()), nil
}
