{{- define "weir.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "weir.clusterName" -}}
{{- .Values.cluster.name | default (include "weir.fullname" .) -}}
{{- end -}}

{{- define "weir.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "weir.labels" -}}
{{ include "weir.selectorLabels" . }}
{{ include "weir.releaseLabels" . }}
{{- end -}}

{{- define "weir.releaseLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The label that all sidecars of one cluster carry, of whatever Deployment they are, and
all anchors; also for other charts, as _sidecar.tpl says. */}}
{{- define "weir.peerLabels" -}}
weir/cluster: {{ include "weir.clusterName" ((.Subcharts).weir | default .) }}
{{- end -}}

{{/* Its controller puts a hash of up to ten letters behind the name of a StatefulSet, in a label of 63. */}}
{{- define "weir.anchorName" -}}
{{- include "weir.fullname" . | trunc 45 | trimSuffix "-" }}-anchor
{{- end -}}

{{/* Another name than that of the app's pods, so that the Service for clients never leads to an anchor. */}}
{{- define "weir.anchorSelectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}-anchor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "weir.anchorLabels" -}}
{{ include "weir.anchorSelectorLabels" . }}
app.kubernetes.io/component: anchor
{{ include "weir.releaseLabels" . }}
{{- end -}}

{{/* The settings of an anchor that take effect only after a restart, but for log.format. */}}
{{- define "weir.anchorRestartSettings" -}}
role: anchor
admin: 127.0.0.1:9901
status: 0.0.0.0:{{ .Values.weir.ports.status }}
snapshot: {file: /var/lib/weir/snapshot}
cluster:
  {{- include "weir.clusterSettings" (dict "scope" . "counterBytes" .Values.anchors.counterBytes) | nindent 2 }}
{{- end -}}
