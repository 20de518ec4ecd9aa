package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

func newWhatIf(q *question) *cobra.Command {
	var file, within string
	cmd := &cobra.Command{
		Use:   "whatif -f FILE",
		Short: "Say what would become of a manifest: where its pods would run, and what would be evicted",
		Long: `Say what would become of a manifest: where its pods would run, and what would be
evicted for them. It is played on a copy; nothing is changed.

Pods, Deployments, StatefulSets, ReplicaSets, Jobs and CronJobs are read, and the
PodGroups and CompositePodGroups that say which of their pods start together. Selectors,
affinity and volumes are not asked about: amounts, quotas and priorities are.`,
		Example: "  kubectl narwhal whatif -f job.yaml\n  kubectl narwhal whatif -f - --within 5m < job.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return q.whatIf(cmd, file, within) },
	}
	cmd.Flags().StringVarP(&file, "filename", "f", "", "manifest, or - for the standard input")
	cmd.Flags().StringVar(&within, "within", "", "how long to wait for what only time brings, such as 30s; without it, for the delays that run then")
	_ = cmd.MarkFlagRequired("filename") // it is there
	return cmd
}

func (q *question) whatIf(cmd *cobra.Command, file, within string) error {
	scheduler, err := q.scheduler(cmd.Context())
	if err != nil {
		return err
	}
	namespace, _, err := q.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return err
	}
	in := q.streams.In
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return err
		}
		defer func() { _ = opened.Close() }() // it was only read
		in = opened
	}
	read, err := readManifest(in, namespace)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := q.findPriorities(cmd.Context(), read); err != nil {
		return err
	}
	asked, err := read.question()
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	asked.Within = within
	if err := leaveOutKnown(cmd.Context(), scheduler, asked); err != nil {
		return err
	}
	answer, err := scheduler.WhatIf(cmd.Context(), asked)
	if err != nil {
		return err
	}
	err = q.write(answer.JSON, func() error { return client.WriteOutcome(q.streams.Out, answer.Value, q.names(cmd.Context())) })
	if err == nil && answer.Value.IsRefused() {
		return errRefused
	}
	return err
}

// errRefused is that something of a question would not be taken in.
var errRefused = errors.New("not all of it would be taken in")

// leaveOutKnown leaves out the applications that there are already: the asks join them.
func leaveOutKnown(ctx context.Context, scheduler *client.Client, asked *client.Question) error {
	var unknown []client.NewApplication
	for _, application := range asked.Applications {
		known, err := scheduler.Knows(ctx, application.Application)
		if err != nil {
			return err
		}
		if !known {
			unknown = append(unknown, application)
		}
	}
	asked.Applications = unknown
	return nil
}

// podsOf is what the pods of an object are like, and how many there are at once.
func podsOf(object runtime.Object) (*v1.Pod, int) {
	switch o := object.(type) {
	case *v1.Pod:
		return o.DeepCopy(), 1
	case *appsv1.Deployment:
		return templated(o.Name, o.Namespace, o.Spec.Template), orOne(o.Spec.Replicas)
	case *appsv1.StatefulSet:
		return templated(o.Name, o.Namespace, o.Spec.Template), orOne(o.Spec.Replicas)
	case *appsv1.ReplicaSet:
		return templated(o.Name, o.Namespace, o.Spec.Template), orOne(o.Spec.Replicas)
	case *batchv1.Job:
		return templated(o.Name, o.Namespace, o.Spec.Template), atOnce(o.Spec)
	case *batchv1.CronJob:
		return templated(o.Name, o.Namespace, o.Spec.JobTemplate.Spec.Template), atOnce(o.Spec.JobTemplate.Spec)
	default:
		return nil, 0
	}
}

func templated(name, namespace string, template v1.PodTemplateSpec) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
	pod.Name, pod.Namespace = strings.TrimSpace(name), namespace
	return pod
}

func orOne(count *int32) int {
	if count == nil {
		return 1
	}
	return int(*count)
}

// atOnce is how many pods of a job run at the same time.
func atOnce(job batchv1.JobSpec) int {
	count := orOne(job.Parallelism)
	if job.Completions != nil {
		count = min(count, int(*job.Completions))
	}
	return count
}
