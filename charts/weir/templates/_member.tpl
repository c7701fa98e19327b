{{/* What sidecars and anchors, the members of a fleet, have in common. Each template takes the scope of the
chart that makes the ConfigMap. */}}

{{- define "weir.environment" -}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- end -}}

{{- define "weir.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: {{ .Values.weir.ports.status }}}
  periodSeconds: 1
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /livez, port: {{ .Values.weir.ports.status }}}
  periodSeconds: 10
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: {{ .Values.weir.ports.status }}}
  periodSeconds: 2
  failureThreshold: 1
{{- end -}}

{{- define "weir.containerSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .Values.weir.runAsUser }}
runAsGroup: {{ .Values.weir.runAsUser }}
readOnlyRootFilesystem: true
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "weir.keyVolume" -}}
- name: weir-key
  secret:
    secretName: {{ .Values.cluster.keySecret.name | quote }}
    # Readable for weir's user through the pod's fsGroup, for nobody else.
    defaultMode: 0440
    items:
      - {key: {{ .Values.cluster.keySecret.key | quote }}, path: gossip.key}
{{- end -}}

{{/* The setting `cluster`, from a dictionary of the scope and the bytes of counters per second. */}}
{{- define "weir.clusterSettings" -}}
{{- $counterBytes := .counterBytes -}}
{{- with .scope -}}
name: {{ include "weir.clusterName" . }}
listen: 0.0.0.0:{{ .Values.weir.ports.gossip }}
join: ["dns://{{ include "weir.fullname" . }}-peers.{{ .Release.Namespace }}.svc:{{ .Values.weir.ports.gossip }}"]
key_file: /etc/weir/key/gossip.key
{{- with .Values.cluster.hold }}
hold: {{ . }}
{{- end }}
{{- with .Values.cluster.holdAlone }}
hold_alone: {{ . }}
{{- end }}
{{- with .Values.cluster.agreeAfter }}
agree_after: {{ . }}
{{- end }}
{{- with $counterBytes }}
counter_bytes: {{ int64 . }}B
{{- end }}
{{- end -}}
{{- end -}}
