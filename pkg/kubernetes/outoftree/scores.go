package outoftree

import (
	"context"
	"fmt"
	"slices"

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
	answer, failure := ask(g, "Score", pod, func() said {
		points, status := g.scores.Score(ctx, state, pod, node)
		return said{points, status}
	})
	if !g.told("Score", pod, answer.status, failure).IsSuccess() {
		state.Write(g.unscoredKey(), unscored{})
		return 0, nil
	}
	return answer.points, nil
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
