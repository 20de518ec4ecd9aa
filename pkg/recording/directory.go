package recording

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A Segment is one file of a recording.
type Segment struct {
	Path string
	Header
}

// A Directory is what was recorded: for each partition the segments in their order, and files that are none.
type Directory struct {
	Partitions []string
	Segments   map[string][]Segment
	Unreadable []error
}

// Read reads which segments a directory has.
func Read(path string) (*Directory, error) {
	d := &Directory{Segments: map[string][]Segment{}}
	below, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("recording: %w", err)
	}
	for _, entry := range below {
		if !entry.IsDir() {
			continue
		}
		name, err := url.PathUnescape(entry.Name())
		if err != nil {
			continue
		}
		if err := d.read(name, filepath.Join(path, entry.Name())); err != nil {
			return nil, err
		}
	}
	if len(d.Partitions) == 0 {
		return nil, fmt.Errorf("%s has no recording: a recording has files PARTITION/BEGAN-NUMBER%s: %w", path, suffix, errors.Join(append(d.Unreadable, fs.ErrNotExist)...))
	}
	return d, nil
}

func (d *Directory) read(partition, path string) error {
	files, err := filepath.Glob(filepath.Join(escapeGlob(path), "*"+suffix))
	if err != nil {
		return err
	}
	for _, file := range files {
		h, err := ReadHeader(file)
		if err != nil {
			d.Unreadable = append(d.Unreadable, err)
			continue
		}
		d.Segments[partition] = append(d.Segments[partition], Segment{file, h})
	}
	list := d.Segments[partition]
	slices.SortFunc(list, func(a, b Segment) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Number, b.Number))
	})
	list = d.reachable(list)
	d.Segments[partition] = list
	if len(list) > 0 {
		d.Partitions = append(d.Partitions, partition)
	}
	return nil
}

// reachable leaves out segments without an image before which others are missing, as they were removed.
func (d *Directory) reachable(list []Segment) (kept []Segment) {
	for _, s := range list {
		last := len(kept) - 1
		if s.hasImage() || last >= 0 && kept[last].Began.Equal(s.Began) && kept[last].Number+1 == s.Number {
			kept = append(kept, s)
			continue
		}
		d.Unreadable = append(d.Unreadable, fmt.Errorf("%s: its image is missing, and the segment before it: %w", s.Path, fs.ErrNotExist))
	}
	return kept
}

// escapeGlob has a path stand for itself in a pattern: names of partitions have brackets.
func escapeGlob(path string) string {
	return strings.NewReplacer("[", `\[`, "]", `\]`, "*", `\*`, "?", `\?`).Replace(path)
}

// Before is the last segment of a partition that begins before a moment, or at it. It is false if there is none.
func (d *Directory) Before(partition string, at time.Time) (found Segment, is bool) {
	for _, s := range d.Segments[partition] {
		if !s.From.After(at) {
			found, is = s, true
		}
	}
	return found, is
}
