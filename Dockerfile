# The scheduler for Kubernetes and the plugin of kubectl, as static programs and nothing else.
#
#   docker build -t narwhal-scheduler .
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY pkg/kubernetes/go.mod pkg/kubernetes/go.sum ./pkg/kubernetes/
RUN cd pkg/kubernetes && go mod download
COPY . .
RUN cd pkg/kubernetes && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o /out/ ./cmd/...

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/narwhal-scheduler /out/kubectl-narwhal /
USER 65532:65532
ENTRYPOINT ["/narwhal-scheduler"]
