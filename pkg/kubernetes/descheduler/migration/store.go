package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
)

// store reads and writes jobs. Each write says which version it is based on, so of two
// writers one gets a conflict and reads again.
type store struct {
	client dynamic.ResourceInterface
	all    dynamic.Interface
}

func newStore(client dynamic.Interface) store { return store{client.Resource(Resource), client} }

// reachable returns why jobs cannot be listed.
func (s store) reachable(ctx context.Context) error {
	_, err := s.client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("jobs cannot be listed; are the kind %s and the role for migrations installed? %w", Kind, err)
	}
	return nil
}

// get reads a job from the API server.
func (s store) get(ctx context.Context, name string) (*Job, error) {
	object, err := s.client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return read(object)
}

// create makes a job. Its status is left to the first step.
func (s store) create(ctx context.Context, job *Job) error {
	object, err := write(job)
	if err != nil {
		return err
	}
	if object, err = s.client.Create(ctx, object, metav1.CreateOptions{}); err != nil || job.Spec.Group == nil {
		return err
	}
	if made, err := read(object); err != nil || made.Spec.Group == nil {
		return errors.Join(errOldKind, err, s.client.Delete(ctx, job.Name, metav1.DeleteOptions{}))
	}
	return nil
}

// errOldKind is of an API server that leaves out what it does not know.
var errOldKind = errors.New("the kind " + Kind + " has no groups: apply docs/deploy/descheduler/crd.yaml again")

// update writes all of a job but its status, which the job has as it was read.
func (s store) update(ctx context.Context, job *Job) error {
	object, err := write(job)
	if err == nil {
		_, err = s.client.Update(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

// updateStatus writes the status of a job.
func (s store) updateStatus(ctx context.Context, job *Job) error {
	object, err := write(job)
	if err == nil {
		_, err = s.client.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

// delete removes the version of a job that was read.
func (s store) delete(ctx context.Context, job *Job) error {
	return s.client.Delete(ctx, job.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(job.UID))})
}

// read makes a job of what the API server has.
func read(object *unstructured.Unstructured) (*Job, error) {
	job := new(Job)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, job); err != nil {
		return nil, fmt.Errorf("job %s: %w", object.GetName(), err)
	}
	return job, nil
}

// write is the reverse of read.
func write(job *Job) (*unstructured.Unstructured, error) {
	job.APIVersion, job.Kind = Domain+"/"+Version, Kind
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	if err != nil {
		return nil, fmt.Errorf("job %s: %w", job.Name, err)
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// list reads all jobs, in the order of their names. One that cannot be read, such as with a time to
// live that is no duration, is left out, since it must not keep others: Reconcile says what is wrong
// with it.
func (s store) list(ctx context.Context) ([]*Job, error) {
	objects, err := s.client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	jobs := make([]*Job, 0, len(objects.Items))
	for i := range objects.Items {
		if job, err := read(&objects.Items[i]); err == nil {
			jobs = append(jobs, job)
		}
	}
	slices.SortFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.Name, b.Name) })
	return jobs, nil
}
