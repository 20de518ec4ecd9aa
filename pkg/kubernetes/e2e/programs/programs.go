// Package programs builds the programs of a control plane from Go modules, and knows
// where they are.
//
// They are in the cache folder of the user, outside the repository. The name of the folder is
// a digest of what they are built from: the go.mod and go.sum of the tools module, the Go
// release, and the flags. So nothing is built twice, and nothing stale is found.
//
// The go.mod of the tools module is of the newest release, on which all scenarios are played. Beside it lie
// modules of others down to the oldest, such as 1.33.mod with 1.33.sum.
package programs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// The programs of a control plane.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
)

// sources are the main packages, in an order in which those of Kubernetes share what is
// compiled for the first.
var sources = []struct{ name, path string }{
	{Etcd, "go.etcd.io/etcd/server/v3"},
	{APIServer, "k8s.io/kubernetes/cmd/kube-apiserver"},
	{ControllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{Scheduler, "k8s.io/kubernetes/cmd/kube-scheduler"},
	{Kubectl, "k8s.io/kubernetes/cmd/kubectl"},
}

// ErrNotBuilt is of a program that Build has not made from the present sources.
var ErrNotBuilt = errors.New("not built, make e2e does it")

// toolsModule is the folder of the tools module, below that of the Kubernetes module.
var toolsModule = filepath.Join("e2e", "tools")

// A Folder is where the programs of one digest are, or will be.
type Folder struct {
	path   string // of the programs
	tools  string // of the tools module
	module string // the file in it that names what is required
	flags  []string
}

// OfModule is the release of the go.mod.
const OfModule = "1.37"

// Release is the release of Kubernetes whose control plane is asked for with the environment variable E2E_KUBERNETES, such
// as 1.33, or that of the go.mod.
func Release() string { return cmp.Or(os.Getenv("E2E_KUBERNETES"), OfModule) }

// Here is the folder that belongs to the sources around a directory, which is inside the
// Kubernetes module, for a Release.
func Here(directory, release string) (Folder, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Folder{}, fmt.Errorf("no cache folder for programs: %w", err)
	}
	tools, err := above(directory, toolsModule)
	if err != nil {
		return Folder{}, err
	}
	if release == OfModule {
		release = "go"
	}
	return in(cache, tools, release+".mod")
}

// in is the folder below a cache for the sources of a tools module, as one of its files requires them.
func in(cache, tools, file string) (Folder, error) {
	module, err := os.ReadFile(filepath.Join(tools, file))
	if errors.Is(err, fs.ErrNotExist) {
		others, _ := filepath.Glob(filepath.Join(tools, "1.*.mod")) // the pattern is right
		for i, other := range others {
			others[i] = strings.TrimSuffix(filepath.Base(other), ".mod")
		}
		others = append(others, OfModule)
		slices.Sort(others)
		return Folder{}, fmt.Errorf("programs: no %s is in %s, which has releases %s: %w", file, toolsModule, strings.Join(others, ", "), err)
	}
	if err != nil {
		return Folder{}, fmt.Errorf("programs: %w", err)
	}
	sums, err := os.ReadFile(filepath.Join(tools, strings.TrimSuffix(file, ".mod")+".sum"))
	if err != nil {
		return Folder{}, fmt.Errorf("programs: %w", err)
	}
	flags, err := buildFlags(string(module))
	if err != nil {
		return Folder{}, err
	}
	digest := sha256.New()
	for _, part := range []string{string(module), string(sums), runtime.Version(), runtime.GOOS, runtime.GOARCH, strings.Join(flags, " ")} {
		fmt.Fprintf(digest, "%d %s", len(part), part)
	}
	name := hex.EncodeToString(digest.Sum(nil))[:16]
	return Folder{path: filepath.Join(cache, "narwhal", "control-plane", name), tools: tools, module: file, flags: flags}, nil
}

// above looks for a folder with a go.mod below the directory or one that contains it.
func above(directory, folder string) (string, error) {
	directory, err := filepath.Abs(directory)
	if err != nil {
		return "", fmt.Errorf("programs: %w", err)
	}
	for at := directory; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, folder, "go.mod")); err == nil {
			return filepath.Join(at, folder), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%s is not in a folder with %s: %w", directory, folder, fs.ErrNotExist)
		}
	}
}

var kubernetesVersion = regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v\S+)`)

// buildFlags give the programs the version of the module they are built from; by itself
// Kubernetes calls itself v0.0.0.
func buildFlags(module string) ([]string, error) {
	match := kubernetesVersion.FindStringSubmatch(module)
	if match == nil {
		return nil, errors.New("the tools module does not require k8s.io/kubernetes")
	}
	stamp := "-s -w"
	for _, variable := range []string{"k8s.io/component-base/version.gitVersion", "k8s.io/client-go/pkg/version.gitVersion"} {
		stamp += " -X " + variable + "=" + match[1]
	}
	return []string{"-trimpath", "-buildvcs=false", "-ldflags", stamp}, nil
}

// Path is where the programs are.
func (f Folder) Path() string { return f.path }

// Find is the path of a program, or ErrNotBuilt.
func (f Folder) Find(program string) (string, error) {
	found := filepath.Join(f.path, program)
	if _, err := os.Stat(found); err != nil {
		return "", fmt.Errorf("%s: %w", program, ErrNotBuilt)
	}
	return found, nil
}

// Missing lists the programs that are not built.
func (f Folder) Missing() []string {
	var missing []string
	for _, source := range sources {
		if _, err := f.Find(source.name); err != nil {
			missing = append(missing, source.name)
		}
	}
	return missing
}

// Build makes the programs that are missing. It says on the output what it does.
func (f Folder) Build(ctx context.Context, output io.Writer) error {
	missing := f.Missing()
	if len(missing) == 0 {
		fmt.Fprintf(output, "the control plane is in %s\n", f.path)
		return nil
	}
	fmt.Fprintf(output, "building %s in %s\n", strings.Join(missing, ", "), f.path)
	fmt.Fprintln(output, "the first time this takes 5 to 15 minutes and 3 GiB of the build cache, later some seconds")
	if err := os.MkdirAll(f.path, 0o755); err != nil {
		return fmt.Errorf("programs: %w", err)
	}
	for _, source := range sources {
		if _, err := f.Find(source.name); err == nil {
			continue
		}
		fmt.Fprintf(output, "  %s\n", source.name)
		if err := f.build(ctx, source.name, source.path, output); err != nil {
			return fmt.Errorf("building %s: %w", source.name, err)
		}
	}
	return nil
}

// build compiles one program under another name and renames it at the end, so that a
// build which is stopped leaves no half of a program.
func (f Folder) build(ctx context.Context, name, source string, output io.Writer) error {
	half := filepath.Join(f.path, fmt.Sprintf(".%s.%d", name, os.Getpid()))
	defer func() { _ = os.Remove(half) }() // it was renamed, or is of no use
	command := exec.CommandContext(ctx, "go", append(append([]string{"build", "-modfile=" + f.module}, f.flags...), "-o", half, source)...)
	command.Dir = f.tools
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stdout, command.Stderr = output, output
	if err := command.Run(); err != nil {
		return err
	}
	return os.Rename(half, filepath.Join(f.path, name))
}
