package feasibility

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// waitingClass is a storage class whose volumes are chosen when a pod is placed.
func waitingClass(provisioner string) *storagev1.StorageClass {
	return &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "waiting"}, Provisioner: provisioner,
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
}

func waitingClaim(name string) *v1.PersistentVolumeClaim {
	claim := boundClaim("team", name, v1.ReadWriteOnce)
	claim.Annotations = nil
	claim.Spec.StorageClassName, claim.Spec.VolumeName = new("waiting"), ""
	claim.Status.Phase = v1.ClaimPending
	return claim
}

// localVolume is a volume of one node.
func localVolume(name, node string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1.PersistentVolumeSpec{
			AccessModes: []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}, Capacity: amounts("storage=2Gi"),
			StorageClassName:       "waiting",
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: "/disk"}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{node}}},
			}}}},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeAvailable},
	}
}

// volumes is a cluster of nodes a and b, where b alone has a volume, and two pods that
// want one each. It is made inside a bubble of synctest.
func volumes(t *testing.T) (c *Checker, client *fake.Clientset, first, second *v1.Pod) {
	first, second = aPod("first", claiming("one")), aPod("second", claiming("two"))
	c, client = newChecker(t, Options{BindTimeout: time.Minute}, waitingClass("kubernetes.io/no-provisioner"),
		waitingClaim("one"), waitingClaim("two"), localVolume("disk-b", "b"), first, second, aNode("a", "z1"), aNode("b", "z2"))
	endsWith(t, c)
	c.SetNode(aNode("a", "z1"))
	c.SetNode(aNode("b", "z2"))
	return c, client, first, second
}

// endsWith waits until the goroutine with which the framework counts has ended, as a
// bubble of synctest asks for. Cleanups run after the context of the test has ended.
func endsWith(t *testing.T, c *Checker) {
	t.Cleanup(func() { runtime.WaitForShutdown(c.framework) })
}

const (
	noVolume = "never: node(s) didn't find available persistent volumes to bind"
	noDevice = "never: cannot allocate all claims"
)

func wantAnswers(t *testing.T, c *Checker, pod *v1.Pod, a, b string) {
	t.Helper()
	answers := texts(c.CheckNodes(pod, []string{"a", "b"}))
	if answers[0] != a || answers[1] != b {
		t.Errorf("pod %s: %q, want %q and %q", pod.Name, answers, a, b)
	}
}

func TestReserveKeepsTheVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client, first, second := volumes(t)
		wantAnswers(t, c, first, noVolume, "yes")
		wantAnswers(t, c, second, noVolume, "yes")

		// One volume: the second pod gets none as long as the first has it.
		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		wantAnswers(t, c, second, noVolume, noVolume)
		if err := c.Reserve(t.Context(), second, "b"); answer(err) != noVolume {
			t.Errorf("a volume was reserved twice: %v", err)
		}
		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Errorf("the same reservation again: %v", err)
		}
		if err := c.Reserve(t.Context(), first, "a"); err == nil {
			t.Error("a pod was reserved on two nodes")
		}
		if disk := volumeOf(t, client); disk.Spec.ClaimRef != nil {
			t.Error("Reserve wrote to the API server")
		}

		c.Unreserve(t.Context(), first, "a") // no reservation there
		wantAnswers(t, c, second, noVolume, noVolume)
		c.Unreserve(t.Context(), first, "b")
		wantAnswers(t, c, second, noVolume, "yes")
		if err := c.PreBind(t.Context(), first, "b"); !errors.Is(err, ErrNotReserved) {
			t.Errorf("PreBind without a reservation: %v", err)
		}
	})
}

func TestPreBindWritesAndWaitsForTheVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, client, first, second := volumes(t)
		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		c.SetPod(on(first, "b"))
		bound := make(chan error, 1)
		go func() { bound <- c.PreBind(t.Context(), first, "b") }()
		synctest.Wait()
		disk := volumeOf(t, client)
		if disk.Spec.ClaimRef == nil || disk.Spec.ClaimRef.Name != "one" {
			t.Fatalf("the volume is not given to the claim: %v", disk.Spec.ClaimRef)
		}
		select {
		case err := <-bound:
			t.Fatalf("PreBind did not wait: %v", err)
		default:
		}
		bindVolume(t, client, disk) // as the controller of volumes does
		if err := <-bound; err != nil {
			t.Fatal(err)
		}
		wantAnswers(t, c, second, noVolume, noVolume)
		if len(c.reservations) != 1 {
			t.Error("a bound pod can be unreserved until it is gone")
		}
		c.RemovePod(first)
		if len(c.reservations) != 0 {
			t.Error("the reservation of a pod that is gone is kept")
		}
	})
}

func TestPreBindGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, first, second := volumes(t)
		if err := c.Reserve(t.Context(), first, "b"); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if err := c.PreBind(t.Context(), first, "b"); err == nil {
			t.Error("nobody bound the volume, but PreBind succeeded")
		}
		if waited := time.Since(start); waited < time.Minute || waited > 2*time.Minute {
			t.Errorf("PreBind waited %s, not a minute", waited)
		}
		c.Unreserve(t.Context(), first, "b")
		c.RemovePod(first)
		if len(c.reservations) != 0 {
			t.Error("the reservation is kept")
		}
		// What was written stays: the volume waits for the first claim.
		wantAnswers(t, c, second, noVolume, noVolume)
		wantAnswers(t, c, first, noVolume, "yes")
	})
}

// TestProvisionedVolume reserves a volume that a driver will make.
func TestProvisionedVolume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := aPod("first", claiming("one"))
		class := waitingClass("example.com/driver")
		class.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{
			{Key: v1.LabelTopologyZone, Values: []string{"z2"}},
		}}}
		c, client := newChecker(t, Options{}, class, waitingClaim("one"), pod, aNode("b", "z2"))
		endsWith(t, c)
		c.SetNode(aNode("a", "z1"))
		c.SetNode(aNode("b", "z2"))
		wantAnswers(t, c, pod, noVolume, "yes")
		if err := c.Reserve(t.Context(), pod, "b"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		bound := make(chan error, 1)
		go func() { bound <- c.PreBind(ctx, pod, "b") }()
		synctest.Wait()
		claim, err := client.CoreV1().PersistentVolumeClaims("team").Get(t.Context(), "one", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if node := claim.Annotations["volume.kubernetes.io/selected-node"]; node != "b" {
			t.Errorf("the driver is told node %q", node)
		}
		cancel()
		if err := <-bound; err == nil {
			t.Error("PreBind succeeded after it was cancelled")
		}
		c.Unreserve(t.Context(), pod, "b")
	})
}

// TestPlainPodsReserveNothing shows that pods without volumes and devices are checked
// again, and cost nothing that is kept.
func TestPlainPodsReserveNothing(t *testing.T) {
	c, _ := newChecker(t, Options{})
	c.SetNode(aNode("a", "z1"))
	pod := aPod("x", requests("cpu=8"), hostPorts(80))
	if err := c.Reserve(t.Context(), pod, "a"); err != nil {
		t.Fatal(err)
	}
	c.SetPod(on(pod, "a"))
	if err := c.Reserve(t.Context(), on(pod, "a"), "a"); err != nil {
		t.Errorf("the pod is in its own way: %v", err)
	}
	if err := c.PreBind(t.Context(), pod, "a"); err != nil {
		t.Error(err)
	}
	c.Unreserve(t.Context(), pod, "a")
	if len(c.reservations) != 0 {
		t.Error("something is kept for a plain pod")
	}
	if err := c.Reserve(t.Context(), aPod("y", requests("cpu=1")), "a"); answer(err) != "Insufficient cpu" {
		t.Errorf("a full node was reserved: %v", err)
	}
}

func volumeOf(t *testing.T, client *fake.Clientset) *v1.PersistentVolume {
	t.Helper()
	volume, err := client.CoreV1().PersistentVolumes().Get(t.Context(), "disk-b", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return volume
}

// bindVolume does what the controller of volumes does with a volume that was given to
// claim "one".
func bindVolume(t *testing.T, client *fake.Clientset, volume *v1.PersistentVolume) {
	t.Helper()
	claims := client.CoreV1().PersistentVolumeClaims("team")
	claim, err := claims.Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	claim = claim.DeepCopy()
	claim.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	claim.Spec.VolumeName, claim.Status.Phase = volume.Name, v1.ClaimBound
	claim.ResourceVersion = "2"
	if _, err := claims.Update(t.Context(), claim, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
