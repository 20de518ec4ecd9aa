package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// ErrNotLeading ends a process whose lease another replica has, or that could not renew it.
var ErrNotLeading = errors.New("it does not lead any more")

// Leading is how one of several replicas is chosen.
type Leading struct {
	// Elect waits for a lease; without it a replica leads at once.
	Elect bool
	// Name is that of the lease.
	Name string
	// Lease is how long a lease is waited for that is not renewed, Renew how long a leader
	// tries to renew its own before it gives up, and Wait the pause between attempts.
	Lease, Renew, Wait time.Duration
}

// An Election runs something while the process leads.
type Election struct {
	Leading
	Client    kubernetes.Interface
	Namespace string // of the lease
	Log       *zap.Logger
	State     *Readiness
	// Pod is that of this process. While it leads it has the LeaderLabel, by which a Service selects it. Without a name
	// there is none, and nothing is written.
	Pod types.NamespacedName
}

// Run waits until the process leads and then runs lead, until the context ends, the lease is
// lost, lead fails, or something else has failed. Lead has returned before the lease is
// given to others, so no two replicas work at once. A replica that waits is ready.
func (e *Election) Run(ctx context.Context, lead func(context.Context) error, failed <-chan error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	m := mark{client: e.Client, pod: e.Pod, of: e.Name, log: e.Log}
	m.clear(ctx)
	marked := func(ctx context.Context) error {
		go m.lead(ctx)
		return lead(ctx)
	}
	if !e.Elect {
		return errors.Join(marked(ctx), causeOf(ctx))
	}
	e.State.Stand("waits for the lease")
	return e.elected(ctx, marked)
}

// elected is Run with an election.
func (e *Election) elected(ctx context.Context, lead func(context.Context) error) error {
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
			LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
			Client:     e.Client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
		},
		LeaseDuration: e.Lease, RenewDeadline: e.Renew, RetryPeriod: e.Wait,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				close(begun)
				e.Log.Info("replica leads")
				both, stop := context.WithCancel(held)
				defer stop()
				defer context.AfterFunc(ctx, stop)()
				result <- lead(both)
				release()
			},
			OnStoppedLeading: func() { e.Log.Info("replica does not lead") },
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
		err = ErrNotLeading
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
