package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errNotLeading ends a process whose lease another replica has, or that could not renew it.
var errNotLeading = errors.New("it does not lead any more")

// leading is how one of several replicas is chosen.
type leading struct {
	elect              bool
	name               string
	lease, renew, wait time.Duration
}

func (l *leading) define(flags *pflag.FlagSet) {
	flags.BoolVar(&l.elect, "leader-elect", true, "schedule only while it holds a lease, so that several replicas can run")
	flags.StringVar(&l.name, "leader-elect-lease", "narwhal-scheduler", "name of the lease")
	flags.DurationVar(&l.lease, "leader-elect-lease-duration", 15*time.Second, "how long a lease is waited for that is not renewed")
	flags.DurationVar(&l.renew, "leader-elect-renew-deadline", 10*time.Second, "how long a leader tries to renew its lease before it gives up")
	flags.DurationVar(&l.wait, "leader-elect-retry-period", 2*time.Second, "pause between attempts")
}

// An election runs something while the process leads.
type election struct {
	leading
	client    kubernetes.Interface
	namespace string
	log       *zap.Logger
	state     *readiness
}

// run waits until the process leads and then runs lead, until the context ends, the lease is
// lost, lead fails, or something else has failed. Lead has returned before the lease is
// given to others, so no two replicas bind pods at once.
func (e *election) run(ctx context.Context, lead func(context.Context) error, failed <-chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if !e.elect {
		return errors.Join(lead(ctx), causeOf(ctx))
	}
	e.state.set("waits for the lease")
	return e.elected(ctx, lead)
}

// elected is run with an election.
func (e *election) elected(ctx context.Context, lead func(context.Context) error) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	leaseCtx, release := context.WithCancel(context.WithoutCancel(ctx)) // the lease is held until lead has returned
	defer release()
	result := make(chan error, 1)
	begun := make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.namespace, Name: e.name},
			Client:     e.client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: e.lease, RenewDeadline: e.renew, RetryPeriod: e.wait,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				close(begun)
				e.log.Info("scheduler leads")
				both, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				result <- lead(both)
				release()
			},
			OnStoppedLeading: func() { e.log.Info("scheduler does not lead") },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-begun: // lead ends first
		default:
			release()
		}
	})()
	elector.Run(leaseCtx)
	select {
	case <-begun:
		err = <-result
	default:
	}
	if err == nil && ctx.Err() == nil {
		err = errNotLeading
	}
	return errors.Join(err, causeOf(ctx))
}

// causeOf is why a context ended, unless it was asked to.
func causeOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
