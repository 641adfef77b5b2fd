{{- define "prshots.name" -}}
{{- contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "prshots.image" -}}
{{ required "image.repository is missing: set it to the image that you built from the Dockerfile" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "prshots.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "prshots.labels" -}}
{{ include "prshots.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The port of each component. */}}
{{- define "prshots.ports" -}}
api: 8081
delivery: 8082
web: 8080
sweep: 8083
{{- end }}

{{- define "prshots.secret" -}}
{{ required "secret is missing: name a Secret with database-url, counter-url and signing-keys" .Values.secret }}
{{- end }}

{{- define "prshots.fromSecret" -}}
valueFrom:
  secretKeyRef: {name: {{ include "prshots.secret" .root }}, key: {{ .key }}}
{{- end }}

{{- define "prshots.secretsAsEnv" -}}
{{- $store := eq .component "delivery" | ternary (.secrets.storeReadOnly | default .secrets.store) .secrets.store }}
{{- if and $store (ne .component "web") }}
- secretRef: {name: {{ $store }}}
{{- end }}
{{- if and .secrets.signIn (eq .component "api") }}
- secretRef: {name: {{ .secrets.signIn }}}
{{- end }}
{{- end }}

{{/* Changes with the Secrets that a pod reads only at startup, so that `helm upgrade` restarts it. It rereads signing keys. */}}
{{- define "prshots.secretsChecksum" -}}
{{- $data := list }}
{{- range $name := compact (list .Values.secret .Values.secretsAsEnv.store .Values.secretsAsEnv.storeReadOnly .Values.secretsAsEnv.signIn) }}
{{- $secret := lookup "v1" "Secret" $.Release.Namespace $name }}
{{- $data = append $data (omit (get $secret "data" | default dict) "signing-keys") }}
{{- end }}
{{- $data | toJson | sha256sum }}
{{- end }}

{{- define "prshots.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001  # so that the process can read the signing keys
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "prshots.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- define "prshots.placement" -}}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
