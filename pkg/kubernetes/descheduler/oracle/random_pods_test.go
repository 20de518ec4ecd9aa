package oracle

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// template makes the pod of a workload, whose pods are alike.
func (g source) template(i int) *v1.Pod {
	ns := pick(g, "a", "a", "b", "c")
	kind := pick(g, "ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "Job", "DaemonSet", "")
	if g.o.dense {
		kind = "ReplicaSet"
	}
	app := fmt.Sprint("w", i)
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: ns, Name: app, Labels: map[string]string{"app": app, "tier": pick(g, "web", "db")}, Annotations: map[string]string{},
	}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: app, UID: types.UID(ns + kind + app), Controller: new(true)}}
	}
	p.Spec.SchedulerName = pick(g, "narwhal", "narwhal", "default-scheduler")
	g.containers(&p.Spec)
	g.priority(&p.Spec)
	g.tolerations(&p.Spec)
	if g.p(10) {
		p.Spec.NodeSelector = map[string]string{"disk": pick(g, "ssd", "hdd")}
	}
	a := &v1.Affinity{NodeAffinity: g.nodeAffinity(), PodAntiAffinity: g.antiAffinity(app)}
	if g.p(6) {
		term := v1.PodAffinityTerm{LabelSelector: selectApp(pick(g, app, fmt.Sprint("w", g.IntN(4)))), TopologyKey: "zone"}
		a.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}}
	}
	if a.NodeAffinity != nil || a.PodAntiAffinity != nil || a.PodAffinity != nil {
		p.Spec.Affinity = a
	}
	g.constraints(&p.Spec, app)
	g.volumes(&p.Spec)
	if g.p(4) {
		p.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 80, HostPort: 80, Protocol: v1.ProtocolTCP}}
	}
	return p
}

func (g source) requests() v1.ResourceRequirements {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	if !g.p(15) {
		requests[v1.ResourceCPU] = milli(pick(g, 100, 500, 1000, 1500))
	}
	if !g.p(15) {
		requests[v1.ResourceMemory] = gi(pick(g, 1, 2, 4))
	}
	if g.p(15) {
		requests[v1.ResourceEphemeralStorage] = gi(pick(g, 1, 4))
	}
	if g.p(12) {
		requests[gpu], limits[gpu] = count(1), count(1)
	}
	if g.p(8) {
		requests[nic], limits[nic] = count(1), count(1)
	}
	return v1.ResourceRequirements{Requests: requests, Limits: limits}
}

func (g source) containers(s *v1.PodSpec) {
	cpu := func(n int) v1.ResourceRequirements {
		return v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: milli(n)}}
	}
	s.Containers = []v1.Container{{Name: "main", Image: pick(g, "i1", "i2"), Resources: g.requests()}}
	if g.p(10) {
		s.Containers = append(s.Containers, v1.Container{Name: "side", Image: "i9", Resources: cpu(300)})
	}
	if g.p(12) {
		for i := range 1 + g.IntN(2) {
			c := v1.Container{Name: fmt.Sprint("init", i), Image: "i3", Resources: cpu(pick(g, 100, 1200, 2000))}
			if g.p(40) {
				c.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
			}
			s.InitContainers = append(s.InitContainers, c)
		}
	}
	if g.p(5) {
		s.Overhead = v1.ResourceList{v1.ResourceMemory: gi(1)}
	}
}

func (g source) priority(s *v1.PodSpec) {
	if g.p(30) {
		s.Priority = new(int32(pick(g, 0, 50, 100, 1000, 5000, critical)))
	}
	if g.p(3) {
		s.PriorityClassName, s.Priority = "system-node-critical", new(int32(critical+1000))
	}
}

func (g source) tolerations(s *v1.PodSpec) {
	if g.p(25) {
		s.Tolerations = append(s.Tolerations, v1.Toleration{Key: pick(g, "ded", "odd"), Operator: v1.TolerationOpExists})
	}
	if g.p(5) {
		s.Tolerations = append(s.Tolerations, v1.Toleration{Key: "ded", Operator: v1.TolerationOpEqual, Value: "v", Effect: v1.TaintEffectNoSchedule})
	}
	if g.p(3) {
		s.Tolerations = append(s.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
	}
}

func in(key string, values ...string) v1.NodeSelectorRequirement {
	return v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: values}
}

func term(of ...v1.NodeSelectorRequirement) v1.NodeSelectorTerm {
	return v1.NodeSelectorTerm{MatchExpressions: of}
}

func (g source) nodeAffinity() *v1.NodeAffinity {
	a := &v1.NodeAffinity{}
	if g.p(20) {
		terms := []v1.NodeSelectorTerm{term(pick(g, in("disk", "ssd"), in("zone", "a", "b"),
			v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpNotIn, Values: []string{"c"}},
			v1.NodeSelectorRequirement{Key: "zone", Operator: v1.NodeSelectorOpExists}))}
		if g.p(20) { // one or the other
			terms = append(terms, term(in("pool", "y"), in("disk", "ssd")))
		}
		a.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: terms}
	}
	preferred := &a.PreferredDuringSchedulingIgnoredDuringExecution
	if g.p(15) {
		for range 1 + g.IntN(2) {
			*preferred = append(*preferred, v1.PreferredSchedulingTerm{
				Weight: int32(1 + g.IntN(20)), Preference: term(in(pick(g, "zone", "disk"), pick(g, "a", "b", "ssd"))),
			})
		}
	}
	if a.RequiredDuringSchedulingIgnoredDuringExecution == nil && *preferred == nil {
		return nil
	}
	return a
}

func (g source) antiAffinity(app string) *v1.PodAntiAffinity {
	if !g.p(20) && !(g.o.dense && g.p(40)) {
		return nil
	}
	t := v1.PodAffinityTerm{
		LabelSelector: selectApp(pick(g, app, app, fmt.Sprint("w", g.IntN(4)))),
		TopologyKey:   pick(g, v1.LabelHostname, v1.LabelHostname, "zone"),
	}
	if g.p(20) {
		t.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "db"}}
	}
	if g.p(15) {
		t.Namespaces = []string{"a", "b"}
	} else if g.p(15) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "x"}}
	}
	terms := []v1.PodAffinityTerm{t}
	if g.p(20) {
		terms = append(terms, v1.PodAffinityTerm{LabelSelector: selectApp(fmt.Sprint("w", g.IntN(4))), TopologyKey: pick(g, "zone", "disk", "pool")})
	}
	return &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: terms}
}

func (g source) constraints(s *v1.PodSpec, app string) {
	if !g.p(25) && !(g.o.dense && g.p(50)) {
		return
	}
	for range 1 + g.IntN(5)/4 {
		c := v1.TopologySpreadConstraint{
			MaxSkew: int32(1 + g.IntN(2)), TopologyKey: pick(g, "zone", "zone", v1.LabelHostname),
			WhenUnsatisfiable: pick(g, v1.DoNotSchedule, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: selectApp(app),
		}
		if g.p(15) {
			c.NodeTaintsPolicy = new(v1.NodeInclusionPolicyHonor)
		}
		if g.p(10) {
			c.NodeAffinityPolicy = new(v1.NodeInclusionPolicyIgnore)
		}
		if of := s.TopologySpreadConstraints; len(of) == 0 || of[0].TopologyKey != c.TopologyKey {
			s.TopologySpreadConstraints = append(of, c)
		}
	}
}

func (g source) volumes(s *v1.PodSpec) {
	add := func(name string, source v1.VolumeSource) {
		s.Volumes = append(s.Volumes, v1.Volume{Name: name, VolumeSource: source})
	}
	if g.p(6) {
		add("v", pick(g, v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}},
			v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/x"}},
			v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}))
	}
	if g.p(8) {
		add("d", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: pick(g, claimClasses...)}})
	}
}

// pod makes one of the pods of a workload.
func (g source) pod(template *v1.Pod, i int, node string) *v1.Pod {
	p := template.DeepCopy()
	p.Name = fmt.Sprint(template.Name, "-", i)
	p.UID = types.UID("u-" + p.Namespace + p.Name)
	p.Spec.NodeName = node
	age := time.Duration(pick(g, 5, 50, 500, 5000))*time.Minute + time.Duration(g.IntN(60))*time.Second
	created := metav1.NewTime(start.Add(-age))
	p.CreationTimestamp = created
	p.Status = g.status(created)
	if g.p(4) && !g.o.simple {
		p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(start.Add(-10*time.Second))), []string{"x"}
	}
	if g.p(2) {
		p.Annotations[v1.MirrorPodAnnotationKey] = "x"
	}
	if g.p(2) {
		p.Annotations["kubernetes.io/config.source"] = pick(g, "file", "http", "api")
	}
	if g.p(5) {
		p.Annotations[noEvict] = ""
	}
	if g.p(3) {
		p.Annotations[mayEvict] = "true"
	}
	if g.p(5) {
		p.Annotations[pick(g, costOwn, costOther)] = pick(g, "2147483647", "5", "-3", "x")
	}
	return p
}

// status is that of a pod that runs, has trouble, or has ended.
func (g source) status(since metav1.Time) v1.PodStatus {
	s := v1.PodStatus{Phase: v1.PodRunning, StartTime: &since}
	c := v1.ContainerStatus{Name: "main", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
	ready := v1.ConditionTrue
	if g.p(10) {
		ready = v1.ConditionFalse
	}
	if g.p(25) {
		c.RestartCount = int32(g.IntN(15))
	}
	waiting := func(reason string) v1.ContainerState {
		return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}
	}
	terminated := func(code int32, reason string) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	switch k := g.IntN(100); {
	case k < 5:
		c.State = waiting(pick(g, "CrashLoopBackOff", "ImagePullBackOff"))
	case k < 12:
		s.Phase, s.Reason = v1.PodFailed, pick(g, "", "Evicted", "NodeLost")
		c.State = terminated(pick(g, int32(1), 137), pick(g, "Error", "OOMKilled"))
	case k < 15:
		s.Phase, c.State = v1.PodSucceeded, terminated(0, "Completed")
	case k < 17:
		s.Phase, c.State = v1.PodPending, waiting("ContainerCreating")
	}
	if c.State.Running == nil {
		ready = v1.ConditionFalse
	}
	s.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: ready, LastTransitionTime: since}}
	s.ContainerStatuses = []v1.ContainerStatus{c}
	return s
}
