package webservice

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/narwhal-scheduler/narwhal/pkg/core"
)

// A sight is the views that a request is answered from. They are taken before the
// request takes a place at the desk: a busy partition lets who looks on wait, and
// nobody else is to wait for that.
type sight []seen

type seen struct {
	partition string
	view      *core.View
	err       error
}

type sightKey struct{}

// foresee takes the views of some partitions, and gives them to a request.
func (s *Service) foresee(r *http.Request, partitions ...string) *http.Request {
	views := make(sight, 0, len(partitions))
	for _, full := range partitions {
		view, err := s.config.Views.Glance(full)
		views = append(views, seen{full, view, err})
	}
	return r.WithContext(context.WithValue(r.Context(), sightKey{}, views))
}

// charge says what the answer to a request cost that was begun at a moment.
func (s *Service) charge(r *http.Request, began time.Time) {
	payer, ok := s.config.Views.(Payer)
	if !ok {
		return
	}
	for _, v := range sightOf(r) {
		payer.Charge(v.partition, time.Since(began))
	}
}

func sightOf(r *http.Request) sight {
	views, _ := r.Context().Value(sightKey{}).(sight)
	return views
}

// name tells sights apart. Who has the same views has the same sight.
func (views sight) name() string {
	var name strings.Builder
	for _, v := range views {
		fmt.Fprintf(&name, " %p", v.view)
	}
	return name.String()
}
