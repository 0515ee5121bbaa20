{{- /* What the pods of both Deployments share. */}}
{{- define "vsched.podSettings" -}}
automountServiceAccountToken: true
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.schedulerName }}
schedulerName: {{ . }}
{{- end }}
enableServiceLinks: false
# What was decided is carried out for five seconds after the signal, and the Lease is given back.
terminationGracePeriodSeconds: 30
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Where replicas run: a dict of the root and the labels of their pods. */}}
{{- define "vsched.spread" -}}
affinity:
  {{- if .root.Values.affinity }}
  {{- toYaml .root.Values.affinity | nindent 2 }}
  {{- else }}
  podAntiAffinity:
    {{- if eq .root.Values.antiAffinity "required" }}
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector:
          matchLabels: {{- .labels | nindent 12 }}
    {{- else }}
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels: {{- .labels | nindent 14 }}
    {{- end }}
  {{- end }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- .labels | nindent 8 }}
{{- end -}}

{{- define "vsched.strategy" -}}
type: RollingUpdate
{{- if eq .Values.antiAffinity "required" }}
# There may be no node for one more.
rollingUpdate: {maxSurge: 0, maxUnavailable: 1}
{{- else }}
# The new one is a warm standby before the old one goes.
rollingUpdate: {maxSurge: 1, maxUnavailable: 0}
{{- end }}
{{- end -}}

{{- define "vsched.containerSettings" -}}
image: {{ include "vsched.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
# It answers from the start; while it lists a large cluster for the first time it is alive and not ready.
startupProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /livez, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
# A standby is ready, too: it follows everything and may take over at any moment.
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 3
{{- end -}}

{{- /* The flags of both processes. */}}
{{- define "vsched.sharedFlags" -}}
- --{{ ternary "" "no-" .Values.leaderElection.enabled }}leader-elect
{{- if .Values.leaderElection.enabled }}
- --leader-elect-resource-namespace={{ .Release.Namespace }}
- --leader-elect-lease-duration={{ .Values.leaderElection.leaseDuration }}
- --leader-elect-renew-deadline={{ .Values.leaderElection.renewDeadline }}
- --leader-elect-retry-period={{ .Values.leaderElection.retryPeriod }}
{{- end }}
- --kube-api-qps={{ .Values.api.qps }}
- --kube-api-burst={{ .Values.api.burst }}
{{- end -}}

{{- define "vsched.jobFlags" -}}
- --volcano-namespace={{ .Values.controllers.volcanoNamespace }}
{{- with include "vsched.jobNamespaces" . }}
{{- range fromYamlArray . }}
- --job-namespace={{ . }}
{{- end }}
{{- end }}
{{- range .Values.controllers.podNetworks }}
- --pod-network={{ . }}
{{- end }}
{{- end -}}

{{- define "vsched.servingFlags" -}}
- --listen-address=:{{ .Values.service.port }}
- --healthz-address=:{{ .Values.healthPort }}
- --authentication={{ .Values.access.authentication }}
{{- range .Values.access.allowUsers }}
- --allow-user={{ . }}
{{- end }}
{{- range .Values.access.allowGroups }}
- --allow-group={{ . }}
{{- end }}
- --log-format=json
- --log-level={{ .Values.logLevel }}
{{- end -}}

{{- /* The flags of the process that decides, one a line: vsched rbac --check understands them, too. */}}
{{- define "vsched.flags" -}}
{{- if .Values.shadow.enabled }}
- --shadow
{{- end }}
{{- range ternary .Values.shadow.schedulerNames .Values.schedulerNames .Values.shadow.enabled }}
- --scheduler-name={{ . }}
{{- end }}
{{- with .Values.ignoreUnsupported }}
- --ignore-unsupported={{ join "," . }}
{{- end }}
- --default-queue={{ .Values.defaultQueue }}
- --scheduler-configmap={{ .Release.Namespace }}/{{ include "vsched.policyConfigMap" . }}/{{ .Values.policy.key }}
{{- range .Values.policy.files }}
- --policy-files={{ . }}
{{- end }}
{{- $namespaces := list }}
{{- range fromYamlArray (include "vsched.policySecrets" .) }}
{{- $namespaces = append $namespaces .namespace }}
{{- end }}
{{- range $namespaces | uniq | sortAlpha }}
- --policy-secrets={{ . }}
{{- end }}
- --{{ ternary "" "no-" .Values.schedule }}schedule
- --{{ ternary "" "no-" .Values.advise }}advise
- --recordings={{ .Values.recordings }}
- --verify={{ .Values.verify }}%
- --user-key={{ .Values.userKey }}
{{- if include "vsched.ownWorkloads" . }}
- --workloads=/etc/vsched/workloads/workloads.yaml
{{- end }}
{{- if not .Values.shadow.enabled }}
- --{{ ternary "" "no-" .Values.history.enabled }}history
- --history-period={{ .Values.history.period }}
- --{{ ternary "" "no-" .Values.history.fromPrometheus }}history-from-prometheus
- --{{ ternary "" "no-" .Values.controllers.queues }}queue-controller
{{- range .Values.controllers.commandNamespaces }}
- --command-namespace={{ . }}
{{- end }}
- --{{ ternary "" "no-" .Values.controllers.podGroups }}podgroup-controller
- --{{ ternary "" "no-" .Values.controllers.podGroupsOfSinglePods }}podgroups-of-single-pods
- --{{ ternary "" "no-" .Values.controllers.jobs }}job-controller
- --vcjobs={{ ternary "apart" "here" (eq (include "vsched.jobsApart" .) "true") }}
{{- if and .Values.schedule .Values.controllers.jobs }}
{{ include "vsched.jobFlags" . }}
{{- end }}
- --{{ ternary "" "no-" .Values.controllers.gates }}gate-controller
- --eviction-mode={{ .Values.evictionMode }}
- --cooperative-eviction={{ .Values.cooperativeEviction }}
{{ include "vsched.sharedFlags" . }}
- --leader-elect-resource-name={{ .Values.leaderElection.leaseName }}
- --leader-pod={{ .Release.Namespace }}/$(POD_NAME)
- --shards={{ .Values.shards.count }}
- --shard-by={{ .Values.shards.by }}
- --node-pool-label={{ .Values.shards.nodePoolLabel }}
- --scheduler-sharding-mode={{ .Values.nodeShard.mode }}
- --scheduler-sharding-name={{ .Values.nodeShard.name }}
{{- if .Values.arbitration.enabled }}
- --arbitrate
- --arbitrate-interval={{ .Values.arbitration.interval }}
- --arbitrate-grace={{ .Values.arbitration.grace }}
- --arbitrate-evictions={{ .Values.arbitration.evictions }}
{{- end }}
{{- end }}
{{- if include "vsched.webhook" . }}
- --webhook-address=:{{ .Values.webhook.port }}
{{- end }}
{{- if include "vsched.tls" . }}
{{ include "vsched.tlsFlags" . }}
{{- if .Values.tls.listen }}
- --tls-on=listen
{{- end }}
{{- if include "vsched.webhook" . }}
- --tls-on=webhook
{{- if include "vsched.ownCertificate" . }}
- --webhook-configuration={{ include "vsched.fullname" . }}
{{- end }}
{{- end }}
{{- end }}
{{ include "vsched.servingFlags" . }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end -}}

{{- /* Those of the process that runs vcjobs. */}}
{{- define "vsched.vcjobsFlags" -}}
- --vcjobs=only
{{- range .Values.schedulerNames }}
- --scheduler-name={{ . }}
{{- end }}
{{ include "vsched.jobFlags" . }}
{{ include "vsched.sharedFlags" . }}
- --leader-elect-resource-name={{ .Values.leaderElection.leaseName }}-vcjobs
{{- if .Values.tls.listen }}
{{ include "vsched.tlsFlags" . }}
- --tls-on=listen
{{- end }}
{{ include "vsched.servingFlags" . }}
{{- end -}}

{{- define "vsched.tlsFlags" -}}
- --tls-cert-file=/etc/vsched/tls/tls.crt
- --tls-private-key-file=/etc/vsched/tls/tls.key
{{- if include "vsched.ownCertificate" . }}
- --tls-secret={{ .Release.Namespace }}/{{ include "vsched.tlsSecret" . }}
{{- range fromYamlArray (include "vsched.tlsNames" .) }}
- --tls-name={{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "vsched.ownWorkloads" -}}
{{- if and .Values.schedule (or .Values.workloads.kinds (not .Values.workloads.builtIn)) -}}true{{- end -}}
{{- end -}}

{{- define "vsched.testContainer" -}}
resources:
  requests: {cpu: 100m, memory: 128Mi}
  limits: {memory: 256Mi}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}
