{{/*
The weir container, for this chart and for others. A chart that depends on this one has this
chart's values under `weir:` in its own, with `app.enabled: false` (then only the ConfigMap, the
headless Service and the anchors, if it wants some, are made here) and `app.port` the port of its
own app, and writes in its Deployment:

  template:
    metadata:
      labels:
        {{- include "weir.peerLabels" . | nindent 8 }}
      annotations:
        {{- include "weir.restartAnnotation" . | nindent 8 }}
    spec:
      securityContext: {fsGroup: {{ .Values.weir.weir.runAsUser }}} # may read the key
      initContainers:
        {{- include "weir.sidecar" . | nindent 8 }}
      volumes:
        {{- include "weir.volumes" . | nindent 8 }}

Its Service leads to the pod's port {{ .Values.weir.weir.ports.traffic }}. With
weir.nativeSidecar: false the container belongs under containers. A dependency with an alias is
passed as .Subcharts.ALIAS instead of the dot: names and settings are always those of the chart
that makes the ConfigMap, whose scope that is.
*/}}
{{- define "weir.sidecar" -}}
{{- with (.Subcharts).weir | default . -}}
- name: weir
  image: {{ .Values.weir.image | quote }}
  imagePullPolicy: {{ .Values.weir.imagePullPolicy }}
  {{- if .Values.weir.nativeSidecar }}
  restartPolicy: Always
  {{- end }}
  args: ["run", "--config", "/etc/weir/config/weir.yaml"]
  env:
    {{- include "weir.environment" . | nindent 4 }}
  ports:
    - {name: traffic, containerPort: {{ .Values.weir.ports.traffic }}}
    - {name: status, containerPort: {{ .Values.weir.ports.status }}}
    - {name: gossip, containerPort: {{ .Values.weir.ports.gossip }}, protocol: UDP}
  {{- include "weir.probes" . | nindent 2 }}
  lifecycle:
    # A pod's end begins with preStop, beside the app's SIGTERM: become unready, keep serving.
    preStop: {exec: {command: ["weir", "drain"]}}
  securityContext:
    {{- include "weir.containerSecurity" . | nindent 4 }}
  resources:
    {{- toYaml .Values.weir.resources | nindent 4 }}
  volumeMounts:
    - {name: weir-config, mountPath: /etc/weir/config, readOnly: true}
    - {name: weir-key, mountPath: /etc/weir/key, readOnly: true}
    {{- if (.Values.weir.snapshot).enabled }}
    - {name: weir-state, mountPath: /var/lib/weir}
    {{- end }}
{{- end -}}
{{- end -}}

{{- define "weir.volumes" -}}
{{- with (.Subcharts).weir | default . -}}
- name: weir-config
  configMap: {name: {{ include "weir.fullname" . }}-config}
{{ include "weir.keyVolume" . }}
{{- if (.Values.weir.snapshot).enabled }}
- name: weir-state
  emptyDir: {sizeLimit: {{ .Values.weir.snapshot.sizeLimit | default "512Mi" }}}
{{- end }}
{{- end -}}
{{- end -}}

{{/* The settings that take effect only after a restart, but for log.format. weir reads all others
again by itself when the ConfigMap changes. */}}
{{- define "weir.restartSettings" -}}
listen: 0.0.0.0:{{ .Values.weir.ports.traffic }}
admin: 127.0.0.1:9901
status: 0.0.0.0:{{ .Values.weir.ports.status }}
drain: {grace: {{ .Values.weir.drainGraceSeconds }}s}
{{- if (.Values.weir.snapshot).enabled }}
snapshot: {file: /var/lib/weir/overrides}
{{- end }}
cluster:
  {{- include "weir.clusterSettings" (dict "scope" . "counterBytes" .Values.cluster.counterBytes) | nindent 2 }}
{{- end -}}

{{/* Changes with those settings only, so that new routes and quotas restart no pod. */}}
{{- define "weir.restartAnnotation" -}}
{{- with (.Subcharts).weir | default . -}}
weir/restart-settings: {{ printf "%s\n%s" (include "weir.restartSettings" .) .Values.weir.logFormat | sha256sum }}
{{- end -}}
{{- end -}}
