package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// An accepted survivor is an entry of the list: a fault, and the reason why no test
// finds it. A reason that begins with "same:" says that the program does the same with
// the fault; one that begins with "open:" says why no test is worth it.
type accepted struct {
	name   string
	line   int
	same   bool
	reason string
}

// survivors reads the list. Entries are divided by empty lines; an entry is the name
// of a fault and one or more lines with the reason. A line that begins with # is a
// comment. A list that is not there is empty.
func survivors(path string) (map[string]accepted, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]accepted{}, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := parseSurvivors(string(content))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

func parseSurvivors(content string) (map[string]accepted, error) {
	list := make(map[string]accepted)
	var entry accepted
	end := func() error {
		defer func() { entry = accepted{} }()
		if entry.name == "" {
			return nil
		}
		entry.same = strings.HasPrefix(entry.reason, "same: ")
		if !entry.same && !strings.HasPrefix(entry.reason, "open: ") {
			return fmt.Errorf("line %d: the reason must begin with \"same: \" or \"open: \"", entry.line)
		}
		if before, ok := list[entry.name]; ok {
			return fmt.Errorf("line %d: the same fault as in line %d", entry.line, before.line)
		}
		list[entry.name] = entry
		return nil
	}
	for i, line := range strings.Split(content, "\n") {
		switch {
		case strings.TrimSpace(line) == "":
			if err := end(); err != nil {
				return nil, err
			}
		case strings.HasPrefix(line, "#"):
		case entry.name == "":
			entry.name, entry.line = line, i+1
		case strings.HasPrefix(line, "\t- ") || strings.HasPrefix(line, "\t+ "):
			entry.name += "\n" + line
		default:
			entry.reason = strings.TrimSpace(entry.reason + " " + strings.TrimSpace(line))
		}
	}
	return list, end()
}
