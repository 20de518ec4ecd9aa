module github.com/narwhal-scheduler/narwhal

go 1.26

require github.com/apache/yunikorn-scheduler-interface v1.9.0

require (
	golang.org/x/net v0.52.0 // indirect
	golang.org/x/sys v0.45.0 // indirect
	golang.org/x/text v0.37.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251202230838-ff82c1b0f217 // indirect
	google.golang.org/grpc v1.79.3 // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
