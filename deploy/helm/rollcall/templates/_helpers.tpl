{{- define "rollcall.name" -}}
{{ .Release.Name }}
{{- end }}

{{- define "rollcall.selector" -}}
app.kubernetes.io/name: rollcall
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "rollcall.labels" -}}
{{ include "rollcall.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "rollcall.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "rollcall.host" -}}
{{ required "host is needed by ingress, gateway and certificate" .Values.host }}
{{- end }}

{{- define "rollcall.podSecurity" -}}
runAsNonRoot: true
{{- with .Values.fsGroup }}
fsGroup: {{ . }}
fsGroupChangePolicy: OnRootMismatch
{{- end }}
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "rollcall.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "rollcall.secrets" -}}
- name: secrets
  secret:
    secretName: {{ .Values.secret.name }}
    defaultMode: 288 # 0440
{{- end }}

{{- define "rollcall.settings" -}}
{{- range $name, $value := .Values.settings }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- with .Values.host }}
PUBLIC_URL: https://{{ . }}
{{- end }}
{{- with .Values.trustedProxies }}
TRUSTED_PROXIES: {{ . | quote }}
{{- end }}
{{- if .Values.service.tlsSecret }}
TLS_CERT: /run/secrets/tls/tls.crt
TLS_KEY: /run/secrets/tls/tls.key
{{- end }}
{{- end }}

{{- define "rollcall.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  {{- if .root.Values.service.tlsSecret }}
  scheme: HTTPS
  {{- end }}
{{- end }}
