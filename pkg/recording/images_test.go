package recording_test

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/narwhal-scheduler/narwhal/pkg/recording"
	"github.com/narwhal-scheduler/narwhal/pkg/scheduler/schedulertest"
)

// imagesOf are the files with images below a directory.
func imagesOf(t *testing.T, directory string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(directory, "*", "*.image"))
	assert.NilError(t, err)
	return paths
}

// No partition waits for an image but for that of the first segment: the others are made of what was written.
func TestImagesAreMadeBeside(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory := record(t, recording.Config{SegmentMax: 10 << 10}, schedulertest.Options{}, storm)
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	list := d.Segments[partition]
	assert.Assert(t, len(list) > 3 && len(imagesOf(t, directory)) > 0)
	for i, s := range list {
		assert.Assert(t, s.Image == (i == 0), "segment %d", s.Number)
	}
	with := play(t, directory)
	copied := func(t *testing.T) string {
		to := t.TempDir()
		assert.NilError(t, os.CopyFS(to, os.DirFS(directory)))
		return to
	}
	t.Run("each is what playing everything before it leads to", func(t *testing.T) {
		without := copied(t)
		for _, path := range imagesOf(t, without) {
			assert.NilError(t, os.Remove(path))
		}
		assert.DeepEqual(t, play(t, without), with, cmpPlayed)
	})
	t.Run("one that is damaged is told with its file", func(t *testing.T) {
		path := imagesOf(t, copied(t))[0]
		content, err := os.ReadFile(path)
		assert.NilError(t, err)
		for _, size := range []int{0, 10, 25, len(content) - 1} {
			assert.NilError(t, os.WriteFile(path, content[:size], 0o600))
			_, err := recording.Open(strings.TrimSuffix(path, ".image") + ".recording")
			assert.Assert(t, errors.Is(err, recording.ErrTorn), "%v", err)
			assert.ErrorContains(t, err, path)
		}
	})
	t.Run("a segment is told that has none, and none before it", func(t *testing.T) {
		less := copied(t)
		first, second := filepath.Base(list[0].Path), filepath.Base(list[1].Path)
		in := filepath.Join(less, url.PathEscape(partition))
		assert.NilError(t, os.Remove(filepath.Join(in, first)))
		_ = os.Remove(filepath.Join(in, strings.TrimSuffix(second, ".recording")+".image"))
		after, err := recording.Read(less)
		assert.NilError(t, err)
		assert.ErrorContains(t, errors.Join(after.Unreadable...), second+": its image is missing")
		assert.Assert(t, len(after.Segments[partition]) < len(list)-1)
		play(t, less)
	})
}

// Where no image can be made of what was written, the next segment begins with one of the partition.
func TestAnImageOfThePartition(t *testing.T) {
	if testing.Short() {
		t.Skip("long, so make test-long plays it")
	}
	directory := t.TempDir()
	inTheWay := filepath.Join(directory, url.PathEscape(partition), "20000101T000000.000000000-000002.recording.part") // when time begins in tests
	assert.NilError(t, os.MkdirAll(inTheWay, 0o700))
	record(t, recording.Config{Directory: directory, SegmentMax: 10 << 10}, schedulertest.Options{}, storm)
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	afresh := 0
	for _, s := range d.Segments[partition][1:] {
		if s.Image {
			afresh++
		}
	}
	assert.Equal(t, afresh, 1)
	assert.Assert(t, play(t, directory).segments > 3)
}

// What is removed to make room for others is nothing that is still written: a quiet partition keeps its recording.
func TestAQuietPartitionIsKept(t *testing.T) {
	directory := record(t, recording.Config{SizeMax: 100 << 10, SegmentMax: 10 << 10}, schedulertest.Options{Config: twoPartitions}, storm)
	d, err := recording.Read(directory)
	assert.NilError(t, err)
	assert.DeepEqual(t, d.Partitions, []string{"[rm]default", "[rm]other"})
	assert.Assert(t, d.Segments[partition][0].Number > 1)
	assert.Equal(t, d.Segments["[rm]other"][0].Number, uint64(1))
}
