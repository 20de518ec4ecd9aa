package recording

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/narwhal-scheduler/narwhal/pkg/core/api"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/image"
	"github.com/narwhal-scheduler/narwhal/pkg/recording/wire"
	"github.com/narwhal-scheduler/narwhal/pkg/resources"
)

// smallest is a segment with a few steps, and what its last frame holds.
func smallest(t testing.TB) (file, steps, imaged []byte) {
	t.Helper()
	directory := t.TempDir()
	r, err := New(Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	kinds := new(resources.Kinds)
	capacity, _ := kinds.Amounts(map[string]int64{"vcore": 4})
	p, s := r.Begin(time.Unix(0, 0), api.Options{Partition: "default", Kinds: kinds}, api.Config{Root: api.QueueConfig{Name: "root", Queues: []api.QueueConfig{{Name: "default"}}}})
	s.Apply(time.Unix(1, 0), api.AddNode{ID: "node-1", Capacity: capacity, Attributes: map[string]string{"zone": "a"}})
	s.Apply(time.Unix(2, 0), api.AddApplication{ID: "app-1", Queue: "root.default"})
	s.Apply(time.Unix(3, 0), api.AddAllocation{Allocation: &api.Allocation{Key: "pod-1", Application: "app-1", Amounts: capacity}})
	s.Schedule(time.Unix(3, 0))
	if imaged, err = image.Of(p); err != nil {
		t.Fatal(err)
	}
	s.End()
	r.Close()
	files, _ := filepath.Glob(filepath.Join(directory, "default", "*"))
	if file, err = os.ReadFile(files[0]); err != nil {
		t.Fatal(err)
	}
	for frames := reading(t, files[0]); ; {
		content, err := frames.next()
		if err != nil {
			return file, steps, imaged
		}
		steps = content
	}
}

func reading(t testing.TB, path string) *frameReader {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	frames, _, err := begin(path, file)
	if err != nil {
		t.Fatal(err)
	}
	return frames
}

// FuzzFile reads files of any bytes, whole or as a frame with the checksum that it needs: there is an error, and no panic.
func FuzzFile(f *testing.F) {
	file, steps, _ := smallest(f)
	f.Add(file, false)
	f.Add(steps, true)
	encoder, _ := zstd.NewWriter(nil)
	f.Fuzz(func(t *testing.T, content []byte, frame bool) {
		if frame {
			content = appendFrame([]byte(magic), content, encoder)
		}
		path := filepath.Join(t.TempDir(), "fuzzed"+suffix)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = (&renaming{names: newNames(), learns: true}).learnSegment(Segment{Path: path})
		p, err := Open(path)
		if err != nil {
			return
		}
		defer p.Close()
		for err == nil {
			_, err = p.record()
		}
	})
}

// FuzzRecords reads steps of any bytes.
func FuzzRecords(f *testing.F) {
	_, steps, _ := smallest(f)
	f.Add(steps)
	f.Fuzz(func(_ *testing.T, content []byte) {
		for r := wire.NewReader(content); len(r.Rest) > 0 && r.Err == nil; {
			takeRecord(r)
		}
	})
}

// FuzzImage restores images of any bytes, which are refused or are some partition.
func FuzzImage(f *testing.F) {
	_, _, imaged := smallest(f)
	f.Add(imaged)
	f.Fuzz(func(_ *testing.T, content []byte) {
		_, _ = image.Restore(content, api.Options{Kinds: new(resources.Kinds)})
	})
}
