package outoftree

import (
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
)

// unscored marks in a cycle that the scores of a plugin do not count, since it failed for one of the nodes. Others count on.
type unscored struct{}

// Clone is for the framework.
func (unscored) Clone() fwk.StateData { return unscored{} }

func (g *guarded) unscoredKey() fwk.StateKey { return fwk.StateKey("outoftree/unscored/" + g.name) }

// PreScore has the plugin prepare its scores. If it fails, it gives none for the pod.
func (g *guarded) PreScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) *fwk.Status {
	if g.scores == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	if g.preScores == nil {
		return nil
	}
	status := g.askStatus("PreScore", pod, func() *fwk.Status { return g.preScores.PreScore(ctx, state, pod, nodes) })
	if !status.IsSuccess() {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score is the score of a node.
func (g *guarded) Score(ctx context.Context, state fwk.CycleState, pod *v1.Pod, node fwk.NodeInfo) (int64, *fwk.Status) {
	if g.scores == nil {
		return 0, nil
	}
	if _, err := state.Read(g.unscoredKey()); err == nil {
		return 0, nil
	}
	type said struct {
		points int64
		status *fwk.Status
	}
	one := func() said {
		points, status := g.scores.Score(ctx, state, pod, node)
		return said{points, status}
	}
	var answer said
	var failure *Failure
	if ctx.Value(inQuestion{}) != nil {
		answer, failure = direct(call{g, "Score", pod}, one)
	} else {
		answer, failure = ask(g, "Score", pod, one)
	}
	if !g.told("Score", pod, answer.status, failure).IsSuccess() {
		state.Write(g.unscoredKey(), unscored{})
		return 0, nil
	}
	return answer.points, nil
}

// inQuestion marks in a context that Scored waits for what is asked.
type inQuestion struct{}

// Scored are the scores of many nodes for a pod, which run works out with a context. They have the time of one answer together, since a
// goroutine for each node costs more than most scores do. Without an answer in that time, which is logged, they are nil.
func (s *Set) Scored(pod *v1.Pod, run func(context.Context) []fwk.NodePluginScores) []fwk.NodePluginScores {
	returned := make(chan []fwk.NodePluginScores, 1)
	go func() {
		var scores []fwk.NodePluginScores
		defer func() { returned <- scores }()
		scores = run(context.WithValue(context.Background(), inQuestion{}, true))
	}()
	timer := time.NewTimer(answerMax)
	defer timer.Stop()
	select {
	case scores := <-returned:
		return scores
	case <-timer.C:
	}
	var hanging []*guarded
	for _, name := range slices.Sorted(maps.Keys(s.guards)) {
		if g := s.guards[name]; g.running.Load() > 0 {
			g.calls.hang(pod.UID)
			_ = g.fails("Score", pod, errLate, nil) // it is logged
			hanging = append(hanging, g)
		}
	}
	go func() {
		<-returned
		for _, g := range hanging {
			g.calls.back()
		}
	}()
	return nil
}

// direct calls a plugin on this goroutine. A panic is a failure.
func direct[T any](c call, do func() T) (answer T, failure *Failure) {
	if err := c.calls.mayAsk(c.pod.UID); err != nil {
		return answer, &Failure{c.name, err}
	}
	c.running.Add(1)
	defer c.running.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			failure = c.fails(c.at, c.pod, fmt.Errorf("%s: panic: %v", c.at, p), debug.Stack())
		}
	}()
	return do(), nil
}

// ScoreExtensions check what came out.
func (g *guarded) ScoreExtensions() fwk.ScoreExtensions { return g }

// NormalizeScore brings the scores of the plugin into what the framework allows. Without that they do not count.
func (g *guarded) NormalizeScore(ctx context.Context, state fwk.CycleState, pod *v1.Pod, scores fwk.NodeScoreList) *fwk.Status {
	if g.scores == nil {
		return nil
	}
	if _, err := state.Read(g.unscoredKey()); err == nil {
		clearScores(scores)
		return nil
	}
	if normal := g.scores.ScoreExtensions(); normal != nil {
		own := slices.Clone(scores) // a call that is left to itself may write to it later
		status := g.askStatus("NormalizeScore", pod, func() *fwk.Status { return normal.NormalizeScore(ctx, state, pod, own) })
		if !status.IsSuccess() {
			clearScores(scores)
			return nil
		}
		copy(scores, own)
	}
	for _, s := range scores {
		if s.Score < fwk.MinScore || s.Score > fwk.MaxScore {
			_ = g.fails("Score", pod, fmt.Errorf("score %d of node %s is not from %d to %d", s.Score, s.Name, fwk.MinScore, fwk.MaxScore), nil)
			clearScores(scores)
			return nil
		}
	}
	return nil
}

func clearScores(scores fwk.NodeScoreList) {
	for i := range scores {
		scores[i].Score = 0
	}
}
