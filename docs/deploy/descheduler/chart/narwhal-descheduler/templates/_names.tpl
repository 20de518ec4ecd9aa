{{/*
What objects of the namespace are called begins with the name of the release. A release that is called like
the program has its name.
*/}}
{{- define "descheduler.name" -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if hasSuffix "descheduler" $release -}}{{ $release }}{{- else -}}{{ $release | trunc 51 | trimSuffix "-" }}-descheduler{{- end -}}
{{- end -}}

{{/*
What is of the whole cluster is called after the namespace too, unless the name begins with it.
*/}}
{{- define "descheduler.clusterName" -}}
{{- if hasPrefix .Release.Namespace .Release.Name -}}{{ include "descheduler.name" . }}{{- else -}}{{ .Release.Namespace }}-{{ include "descheduler.name" . }}{{- end -}}
{{- end -}}

{{/* The pods of this release. */}}
{{- define "descheduler.selector" -}}
app: {{ include "descheduler.name" . }}
{{- end -}}

{{/* The image, by its digest where that is given. */}}
{{- define "descheduler.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}
