package shim

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"go.uber.org/zap"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errGone says that a pod is not there any more.
var errGone = errors.New("the pod is gone")

// An outcome is what is known after a request to bind a pod.
type outcome uint8

const (
	done    outcome = iota // it is bound where it was to be
	final                  // it is not, and asking again does not help
	again                  // it is not, and asking again may help
	unknown                // the request may have been carried out
)

// outcomeOf reads the answer to a request. Only a clear refusal is one: after a time-out, a
// broken connection or a failure of the server the pod may be bound all the same, and one
// that is bound already may be where it was to be.
func outcomeOf(err error) outcome {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return done
	case !errors.As(err, &status):
		return unknown
	}
	switch code := status.Status().Code; {
	case code == http.StatusTooManyRequests:
		return again
	case code == http.StatusConflict || code == http.StatusNotFound || code == http.StatusRequestTimeout:
		return unknown
	case code >= 400 && code < 500:
		return final
	default:
		return unknown
	}
}

// look finds out what came of a request whose outcome is unknown, by reading the pod from
// the API server until it answers, or until an informer says which node the pod has. Nothing
// else may be tried with the pod before: it could be counted twice, or not at all.
func (b *binder) look(x *binding, why error) (*v1.Pod, outcome, error) {
	delay := b.options.RetryDelay
	for {
		ctx, cancel := context.WithTimeout(x.unseen, b.options.BindTimeout)
		pod, err := b.options.Client.CoreV1().Pods(x.pod.Namespace).Get(ctx, x.pod.Name, metav1.GetOptions{})
		cancel()
		switch {
		case apierrors.IsNotFound(err) || err == nil && pod.UID != x.pod.UID:
			return nil, final, errGone
		case err == nil && pod.Spec.NodeName != "":
			return pod, outcomeOn(pod, x.node), elsewhere(pod, x.node, why)
		case err == nil && pod.DeletionTimestamp != nil:
			return nil, final, fmt.Errorf("it is being deleted: %w", why)
		case err == nil:
			return nil, again, why
		}
		b.log.Warn("outcome of binding is not known yet", refer(x.pod), zap.String("node", x.node), zap.NamedError("binding", why), zap.Error(err))
		if pause(x.unseen, delay); x.ctx.Err() != nil {
			return nil, final, x.ctx.Err()
		}
		if pod := b.hasSeen(x); pod != nil {
			return pod, outcomeOn(pod, x.node), elsewhere(pod, x.node, why)
		}
		delay = min(2*delay, b.options.RetryMax)
	}
}

// hasSeen is the pod of a binding if an informer says which node it has.
func (b *binder) hasSeen(x *binding) *v1.Pod {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if pod := x.task.pod; pod.Spec.NodeName != "" {
		return pod
	}
	return nil
}

// outcomeOn is what came of binding a pod that has a node.
func outcomeOn(pod *v1.Pod, node string) outcome {
	if pod.Spec.NodeName == node {
		return done
	}
	return final
}

// elsewhere is the error for a pod that has another node than was wanted.
func elsewhere(pod *v1.Pod, node string, why error) error {
	if pod.Spec.NodeName == node {
		return nil
	}
	return fmt.Errorf("it runs on node %s already: %w", pod.Spec.NodeName, why)
}
