package shim

import (
	"encoding/json"
	"strconv"
	"testing"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/narwhal-scheduler/narwhal/pkg/scheduler"
)

// serveStatus has the API server carry out changes of the status of one pod, each with a new
// version. It returns the nominated nodes that were written.
func serveStatus(c callback, pod *v1.Pod) *[]string {
	var written []string
	version := 1
	c.options.Client.(*fake.Clientset).AddReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		var change struct{ Status v1.PodStatus }
		if err := json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &change); err != nil {
			return true, nil, err
		}
		version++
		next := pod.DeepCopy()
		next.ResourceVersion = strconv.Itoa(version)
		next.Status = change.Status
		written = append(written, change.Status.NominatedNodeName)
		return true, next, nil
	})
	return &written
}

// A pod that was bound, of which informers have not told yet, does not say that it waits. One that was changed in
// another way says it when informers have told of the change.
func TestStatusOfAPodThatChanged(t *testing.T) {
	for _, node := range []string{"", "node-1"} {
		c := newCallback(t)
		pod := ourPod("")
		pod.ResourceVersion = "1"
		c.AddPod(pod)
		changed := pod.DeepCopy()
		changed.ResourceVersion, changed.Spec.NodeName = "2", node
		var written []string
		c.options.Client.(*fake.Clientset).AddReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
			var change v1.Pod
			assert.NilError(t, json.Unmarshal(action.(clienttesting.PatchAction).GetPatch(), &change))
			if change.ResourceVersion != changed.ResourceVersion {
				return true, nil, apierrors.NewConflict(v1.Resource("pods"), pod.Name, nil)
			}
			written = append(written, change.Status.Conditions[0].Reason)
			return true, changed, nil
		})
		c.status.waits("web", scheduler.WaitsForNodes, "no node has room")
		assert.Assert(t, apierrors.IsConflict(c.status.write("web"))) // so it is tried again
		c.AddPod(changed)
		assert.NilError(t, c.status.write("web"))
		if node == "" {
			assert.DeepEqual(t, written, []string{"Unschedulable"})
		} else {
			assert.Equal(t, len(written), 0)
		}
	}
}

// What was written is compared with what is to be written, also while informers do not have it
// yet. What another one writes after that counts as well.
func TestStatusWhileInformersLag(t *testing.T) {
	c := newCallback(t)
	pod := ourPod("")
	pod.ResourceVersion = "1"
	c.AddPod(pod)
	written := serveStatus(c, pod)
	nominate := func(node string) {
		t.Helper()
		c.status.nominate("web", node)
		assert.NilError(t, c.status.write("web"))
	}
	nominate("node-1")
	nominate("node-1")
	assert.DeepEqual(t, *written, []string{"node-1"})
	nominate("") // the informer has the pod as it was before both
	assert.DeepEqual(t, *written, []string{"node-1", ""})

	other := pod.DeepCopy()
	other.ResourceVersion, other.Status.NominatedNodeName = "9", "node-2"
	c.AddPod(other)
	nominate("")
	assert.DeepEqual(t, *written, []string{"node-1", "", ""})
	c.status.nominate("web", "node-3") // nothing of it is kept when the pod has ended before
	c.DeletePod(other)
	assert.Equal(t, len(c.status.written)+len(c.status.wanted), 0)
	c.status.answered(other) // the answer comes after the end
	assert.Equal(t, len(c.status.written), 0)
}
