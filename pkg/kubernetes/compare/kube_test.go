//go:build compare

package compare

import (
	"context"
	"sync"
	"testing"
	"time"

	"gotest.tools/v3/assert"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

// quiet is how long nothing is bound until kube-scheduler is done.
const quiet = 15 * time.Second

// A binding is a pod that kube-scheduler has bound.
type binding struct {
	pod, node string
	at        time.Time
}

// byKube has kube-scheduler place the jobs of a world. A pod that is deleted has ended at once.
func byKube(t *testing.T, w world) outcome {
	klog.SetLogger(klog.Background().V(100))
	assert.NilError(t, utilfeature.DefaultMutableFeatureGate.Set("GenericWorkload=true,TopologyAwareWorkloadScheduling=true"))
	metrics.Register()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	objects := objectsOf(w)
	client := fake.NewClientset(objects...)
	bound, o := make(chan binding, 1000), newOutcome()
	var deleted sync.Map
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deleted.Store(action.(clienttesting.DeleteAction).GetName(), true)
		return false, nil, nil
	})
	client.PrependReactor("create", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "binding" {
			return false, nil, nil
		}
		of := action.(clienttesting.CreateAction).GetObject().(*v1.Binding)
		object, err := client.Tracker().Get(v1.SchemeGroupVersion.WithResource("pods"), of.Namespace, of.Name)
		if err != nil {
			return true, nil, err
		}
		pod := object.(*v1.Pod).DeepCopy()
		pod.Spec.NodeName = of.Target.Name
		err = client.Tracker().Update(v1.SchemeGroupVersion.WithResource("pods"), pod, of.Namespace)
		bound <- binding{of.Name, of.Target.Name, time.Now()}
		return true, of, err
	})
	informers := scheduler.NewInformerFactory(client, 0, nil)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	s, err := scheduler.New(ctx, client, informers, nil, profile.NewRecorderFactory(broadcaster))
	assert.NilError(t, err)
	informers.Start(ctx.Done())
	informers.WaitForCacheSync(ctx.Done())
	assert.NilError(t, s.WaitForHandlersSync(ctx))
	for i, j := range w.jobs {
		if !j.plain {
			_, err := client.SchedulingV1beta1().PodGroups("default").Create(ctx, groupOf(j), metav1.CreateOptions{})
			assert.NilError(t, err)
		}
		for pod := range j.pods {
			_, err := client.CoreV1().Pods("default").Create(ctx, podOf(j, pod, i), metav1.CreateOptions{})
			assert.NilError(t, err)
		}
	}
	begin := time.Now()
	go s.Run(ctx)
	for over := false; !over && len(o.on) < w.asked(); {
		select {
		case b := <-bound:
			o.on[b.pod], o.took = b.node, b.at.Sub(begin)
		case <-time.After(quiet):
			over = true
		}
	}
	deleted.Range(func(pod, _ any) bool {
		o.victims[pod.(string)] = true
		return true
	})
	return o
}

func objectsOf(w world) (list []runtime.Object) {
	for rack, nodes := range w.racks {
		for node := range nodes {
			name := nodeName(rack, node)
			list = append(list, &v1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": rackName(rack), v1.LabelHostname: name}},
				Status: v1.NodeStatus{
					Allocatable: v1.ResourceList{
						v1.ResourceCPU: *resource.NewQuantity(slots, resource.DecimalSI), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
					},
					Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
				},
			})
		}
	}
	for _, j := range w.runs {
		if !j.plain {
			list = append(list, groupOf(j))
		}
		for number, node := range j.on {
			pod := podOf(j, number, 0)
			pod.Spec.NodeName, pod.Status.Phase, pod.Status.StartTime = node, v1.PodRunning, &pod.CreationTimestamp
			list = append(list, pod)
		}
	}
	return list
}

func groupOf(j job) *scheduling.PodGroup {
	g := &scheduling.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Name: j.name, Namespace: "default"},
		Spec: scheduling.PodGroupSpec{
			SchedulingPolicy: scheduling.PodGroupSchedulingPolicy{Gang: &scheduling.GangSchedulingPolicy{MinCount: int32(j.pods)}},
			Priority:         new(int32(j.priority)),
		},
	}
	if j.all {
		g.Spec.DisruptionMode = &scheduling.DisruptionMode{All: &scheduling.AllDisruptionMode{}}
	}
	if j.rack {
		g.Spec.SchedulingConstraints = &scheduling.PodGroupSchedulingConstraints{Topology: []scheduling.TopologyConstraint{{Key: "rack"}}}
	}
	return g
}

func podOf(j job, number, order int) *v1.Pod {
	name := podName(j, number)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID("uid-" + name),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, order, 0, time.UTC)),
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Priority:      new(int32(j.priority)),
			Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewQuantity(int64(j.slotsOf(number)), resource.DecimalSI),
			}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
	if !j.plain {
		group := j.name
		pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &group}
	}
	return pod
}
