package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/narwhal-scheduler/narwhal/pkg/kubernetes/pods"
	"github.com/narwhal-scheduler/narwhal/pkg/webservice/client"
)

// A manifest is what a file says of pods that would come, and of which of them start together.
type manifest struct {
	of         []alike
	groups     map[string]pods.PodGroup // by namespace and name
	composites pods.Composites
	classes    map[string]*scheduling.PriorityClass
}

// alike are pods of one template.
type alike struct {
	template *v1.Pod
	count    int
	group    string // the name of their pod group; empty for none
}

// expected is what a manifest has.
const expected = "Pods, Deployments, StatefulSets, ReplicaSets, Jobs, CronJobs, PodGroups and CompositePodGroups are expected"

func readManifest(in io.Reader, namespace string) (*manifest, error) {
	m := &manifest{groups: map[string]pods.PodGroup{}, composites: pods.Composites{}, classes: map[string]*scheduling.PriorityClass{}}
	documents := yaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		var raw runtime.RawExtension
		err := documents.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if len(raw.Raw) == 0 || string(raw.Raw) == "null" {
			continue
		}
		object := new(unstructured.Unstructured)
		if err := object.UnmarshalJSON(raw.Raw); err != nil {
			return nil, err
		}
		object.SetNamespace(cmp.Or(object.GetNamespace(), namespace))
		if err := m.add(object, raw.Raw); err != nil {
			return nil, err
		}
	}
	if len(m.of) == 0 {
		return nil, errors.New("there are no pods in it")
	}
	return m, nil
}

// add takes one object.
func (m *manifest) add(object *unstructured.Unstructured, text []byte) error {
	if strings.HasSuffix(object.GetKind(), "PodGroup") || object.GetKind() == "Workload" {
		return m.addGroup(object)
	}
	typed, kind, err := scheme.Codecs.UniversalDeserializer().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	if class, is := typed.(*scheduling.PriorityClass); is {
		m.classes[class.Name] = class
		return nil
	}
	template, count := podsOf(typed)
	if template == nil {
		return fmt.Errorf("%s: %s", kind.Kind, expected)
	}
	template.Namespace = object.GetNamespace()
	of := alike{template, count, pods.PodGroupOf(template)}
	if _, isJob := typed.(*batchv1.Job); isJob {
		if of.group, err = m.addGroupOfJob(object, of); err != nil {
			return err
		}
	}
	if count > 0 {
		m.of = append(m.of, of)
	}
	return nil
}

// addGroup takes a pod group, or a composite one; a Workload is what controllers make these of.
func (m *manifest) addGroup(object *unstructured.Unstructured) (err error) {
	name := object.GetNamespace() + "/" + object.GetName()
	switch object.GetKind() {
	case "PodGroup":
		m.groups[name], err = pods.ReadPodGroup(object)
	case "CompositePodGroup":
		m.composites[name], err = pods.ReadCompositePodGroup(object)
	}
	return err
}

// addGroupOfJob is the name of the pod group of a job, which its controller makes if the job says how it is scheduled.
func (m *manifest) addGroupOfJob(job *unstructured.Unstructured, of alike) (string, error) {
	says, stated, err := unstructured.NestedMap(job.Object, "spec", "scheduling")
	if err != nil || !stated {
		return of.group, err
	}
	if gang, is, _ := unstructured.NestedMap(says, "schedulingPolicy", "gang"); is && gang["minCount"] == nil {
		_ = unstructured.SetNestedField(says, int64(of.count), "schedulingPolicy", "gang", "minCount")
	}
	if says["schedulingPolicy"] == nil {
		says["schedulingPolicy"] = map[string]any{"basic": map[string]any{}}
	}
	group := &unstructured.Unstructured{Object: map[string]any{"spec": says}}
	group.SetGroupVersionKind(pods.PodGroupResources()[0].GroupVersion().WithKind("PodGroup"))
	group.SetNamespace(job.GetNamespace())
	group.SetName(job.GetName())
	return job.GetName(), m.addGroup(group)
}

// findPriorities has pods that name a priority class have its priority, as the API server does.
func (q *question) findPriorities(ctx context.Context, m *manifest) error {
	for _, of := range m.of {
		name := of.template.Spec.PriorityClassName
		if name == "" || of.template.Spec.Priority != nil {
			continue
		}
		if m.classes[name] == nil {
			api, err := q.api()
			if err != nil {
				return err
			}
			if m.classes[name], err = api.SchedulingV1().PriorityClasses().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return fmt.Errorf("priority of %s: %w", of.template.Name, err)
			}
		}
		of.template.Spec.Priority = &m.classes[name].Value
		if of.template.Spec.PreemptionPolicy == nil {
			of.template.Spec.PreemptionPolicy = m.classes[name].PreemptionPolicy
		}
	}
	return nil
}

// question is what would become of the pods.
func (m *manifest) question() (*client.Question, error) {
	asked := &client.Question{}
	known := map[string]bool{}
	for _, of := range m.of {
		application, err := pods.Rules{}.ApplicationOf(of.template, nil)
		if err != nil {
			return nil, err
		}
		if !known[application.ID] {
			known[application.ID] = true
			asked.Applications = append(asked.Applications, client.NewApplication{
				Application: application.ID, Queue: application.Queue, User: application.User, Groups: application.Groups, Tags: application.Tags,
			})
		}
		asks, err := m.asksOf(of, application.ID)
		if err != nil {
			return nil, err
		}
		asked.Asks = append(asked.Asks, asks...)
	}
	return asked, nil
}

// asksOf are the asks for pods of a template: of each subgroup those that are in it.
func (m *manifest) asksOf(of alike, application string) ([]client.NewAsk, error) {
	one := askOf(of.template, application)
	if one.Count = of.count; of.group == "" {
		return []client.NewAsk{one}, nil
	}
	group, known := m.groups[of.template.Namespace+"/"+of.group]
	if !known {
		return nil, fmt.Errorf("%s names pod group %s, which is not in the manifest", of.template.Name, of.group)
	}
	if _, why := m.composites.Of(group); why != "" {
		return nil, fmt.Errorf("%s waits: %s", of.template.Name, why)
	}
	tags := func(index int) map[string]string {
		return m.composites.Tags(group, fmt.Sprint(index), of.template.Labels[pods.LabelSubgroup])
	}
	if group.SubgroupSize == 0 || of.count == 1 {
		one.Tags = tags(0)
		return []client.NewAsk{one}, nil
	}
	var asks []client.NewAsk
	for index := 0; index < of.count; index += group.SubgroupSize {
		part := one
		part.Tags, part.Count = tags(index), min(group.SubgroupSize, of.count-index)
		part.Key = fmt.Sprintf("%s-%s", one.Key, part.Tags[pods.TagQuorumSubgroup])
		asks = append(asks, part)
	}
	return asks, nil
}

// askOf is the ask for a pod of a template.
func askOf(template *v1.Pod, application string) client.NewAsk {
	ask := pods.Ask(template, pods.Resources(template), application, nil)
	amounts := client.Amounts{}
	for kind, quantity := range ask.ResourcePerAlloc.Resources {
		amounts[kind] = quantity.Value
	}
	policy := &client.Policy{Self: true, Other: true}
	if said := ask.PreemptionPolicy; said != nil {
		policy.Self, policy.Other = said.AllowPreemptSelf, said.AllowPreemptOther
	}
	return client.NewAsk{Key: template.Name, Application: application, Resource: amounts, Priority: ask.Priority, Policy: policy}
}
