package replica

import (
	"net/http"
	"time"
)

// Bounds on a client that is slow or silent, so that it holds no connection and no report for ever.
const (
	requestMax = 10 * time.Second // until a request has been read
	answerMax  = time.Minute      // until an answer has been taken
	idleMax    = time.Minute      // between two requests
)

// NewServer bounds how long a client may take.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: requestMax, ReadTimeout: requestMax, WriteTimeout: answerMax, IdleTimeout: idleMax,
	}
}
