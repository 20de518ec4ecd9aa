package feasibility

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// numbered gives a pod its number in an indexed job.
func numbered(number string) func(*v1.Pod) {
	return labelled(batchv1.JobCompletionIndexAnnotation, number)
}

// classesOf are the classes of the pods of an indexed job, which must be on nodes of their own.
func classesOf(c *Checker, pods int, more ...func(*v1.Pod)) map[string]bool {
	classes := map[string]bool{}
	for i := range pods {
		edits := append(slices.Clone(more), labelled("app", "a"), numbered(fmt.Sprint(i)), apart("app", "a", v1.LabelHostname))
		classes[c.Class(aPod(fmt.Sprintf("job-%d", i), edits...))] = true
	}
	return classes
}

// TestNumbersMakeNoClass: 200 pods that differ by their numbers are one class, as long as no selector names the number. Then they
// are 200, of which none is the one before, and stay so.
func TestNumbersMakeNoClass(t *testing.T) {
	c, _ := newChecker(t, Options{})
	before := classesOf(c, 200)
	if len(before) != 1 {
		t.Errorf("200 numbered pods are %d classes", len(before))
	}
	for name, own := range map[string]func(*v1.Pod){
		"affinity": near(batchv1.JobCompletionIndexAnnotation, "0", v1.LabelHostname),
		"spread":   spread(batchv1.JobCompletionIndexAnnotation, "0", v1.LabelHostname),
		"keys": func(pod *v1.Pod) {
			spread("app", "a", v1.LabelHostname)(pod)
			pod.Spec.TopologySpreadConstraints[0].MatchLabelKeys = []string{batchv1.JobCompletionIndexAnnotation}
		},
	} {
		if classes := classesOf(c, 200, own); len(classes) != 200 {
			t.Errorf("%s of their own: %d classes", name, len(classes))
		}
	}
	if again := classesOf(c, 200); len(again) != 1 {
		t.Errorf("constraints of other pods made %d classes", len(again))
	}
	version := c.ClassVersion()
	rival := aPod("rival", placedOn("n1"), apart(batchv1.JobCompletionIndexAnnotation, "3", v1.LabelHostname))
	c.SetPod(rival)
	c.RemovePod(rival)
	after := classesOf(c, 200)
	if len(after) != 200 || c.ClassVersion() == version {
		t.Errorf("with a term that names the number they are %d classes, of version %d after %d", len(after), c.ClassVersion(), version)
	}
	for class := range before {
		if after[class] || c.Class(aPod("x", labelled("app", "a"), apart("app", "a", v1.LabelHostname))) == class {
			t.Error("what was kept for the class before may be used for one of them")
		}
	}
}

// TestTermsThatNameNumbers: a term names a number by any part of its selector. Each that is the first is told once, whether its pod
// runs, waits, or is added in thought.
func TestTermsThatNameNumbers(t *testing.T) {
	index := batchv1.JobCompletionIndexAnnotation
	by := func(edit func(*v1.PodAffinityTerm)) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			apart("app", "a", v1.LabelHostname)(pod)
			edit(&pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0])
		}
	}
	for name, edit := range map[string]func(*v1.Pod){
		"label": apart(index, "1", v1.LabelHostname),
		"expression": by(func(term *v1.PodAffinityTerm) {
			term.LabelSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: index, Operator: metav1.LabelSelectorOpExists}}
		}),
		"key":       by(func(term *v1.PodAffinityTerm) { term.MatchLabelKeys = []string{index} }),
		"other key": by(func(term *v1.PodAffinityTerm) { term.MismatchLabelKeys = []string{index} }),
	} {
		for _, how := range []func(*Checker, *v1.Pod){
			func(c *Checker, pod *v1.Pod) { c.Class(pod) },
			func(c *Checker, pod *v1.Pod) { c.SetPod(on(pod, "n1")) },
			func(c *Checker, pod *v1.Pod) { _ = c.CheckWith(aPod("x"), "n1", []*v1.Pod{pod}, nil) },
		} {
			c, _ := newChecker(t, Options{})
			told := 0
			c.named.watch(func(string) { told++ })
			for i := range 3 {
				how(c, aPod(fmt.Sprint("rival-", i), edit))
			}
			if classes := classesOf(c, 5); len(classes) != 5 || told != 1 {
				t.Errorf("%s: %d classes of 5 pods, told %d times", name, len(classes), told)
			}
		}
	}
}

// TestNumberedPodsAnswerAsARebuiltSnapshot asks about the pods of indexed jobs, before and after pods come whose affinity,
// anti-affinity or spread constraints name a number. Each answer is that of a snapshot that is made anew, and those of one class
// have the same answers.
func TestNumberedPodsAnswerAsARebuiltSnapshot(t *testing.T) {
	alike, split, differ := 0, 0, 0
	for seed := range uint64(12) {
		c, h := twinChecker(t), newHistory(seed+900)
		for step := range 120 {
			if step < 24 || h.IntN(8) == 0 {
				h.step(c)
			} else {
				h.runNumbered(c, step >= 60)
			}
			if step%4 != 0 {
				continue
			}
			job := aPod(fmt.Sprint("job", step), labelled("app", h.app()), spread("app", h.app(), h.topology()))
			if step >= 60 && h.IntN(4) == 0 {
				h.nameNumber(job)
			}
			answers := map[string][]string{}
			for number := range 3 {
				pod := job.DeepCopy()
				pod.Name, pod.UID = fmt.Sprint(pod.Name, "-", number), pod.UID+"-"+pod.UID
				numbered(fmt.Sprint(number))(pod)
				class := c.Class(pod)
				got, want := texts(c.CheckNodes(pod, twinNodes)), h.rebuilt(t, c, pod, twinNodes)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, step %d, pod %s:\n%q\nwant\n%q", seed, step, pod.Name, got, want)
				}
				if before, known := answers[class]; known {
					alike++
					if class != "" && !slices.Equal(before, want) {
						t.Fatalf("seed %d, step %d, pod %s of a class with others:\n%q\nbut\n%q", seed, step, pod.Name, want, before)
					}
				}
				answers[class] = want
			}
			if len(answers) == 3 {
				split++
				if all := slices.Collect(maps.Values(answers)); !slices.Equal(all[0], all[1]) || !slices.Equal(all[0], all[2]) {
					differ++
				}
			}
		}
	}
	if alike < 300 || split < 100 || differ < 20 {
		t.Errorf("the histories show little: %d pods were like another, %d jobs were not alike, %d of them in answers too", alike, split, differ)
	}
	t.Logf("%d pods were like another, %d jobs were not alike, %d of them in answers too", alike, split, differ)
}

// runNumbered has a numbered pod run, which may name numbers, in place of one that runs.
func (h *history) runNumbered(c *Checker, names bool) {
	if old := h.anyPod(); old != nil {
		delete(h.pods, old.Name)
		c.RemovePod(old)
	}
	h.made++
	pod := aPod(fmt.Sprintf("p%d", h.made), labelled("app", h.app()), numbered(h.oneOf("0", "1", "2")))
	if names && h.IntN(3) == 0 {
		h.nameNumber(pod)
	}
	pod.Spec.NodeName = h.nodeName()
	h.pods[pod.Name] = pod
	c.SetPod(pod)
}

// nameNumber gives a pod a constraint that names a number.
func (h *history) nameNumber(pod *v1.Pod) {
	number := batchv1.JobCompletionIndexAnnotation
	switch h.IntN(3) {
	case 0:
		near(number, h.oneOf("0", "1"), h.topology())(pod)
	case 1:
		apart(number, h.oneOf("0", "1"), h.topology())(pod)
	default:
		spread(number, h.oneOf("0", "1"), h.topology())(pod)
	}
}
