{{- /* Rules that several roles have, each with its reason. */}}
{{- define "vsched.ownRules" -}}
# the policy is in a ConfigMap; without it, the daemon does not start
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "vsched.policyConfigMap" . }}]
  verbs: [get, list, watch]
{{- if not .Values.shadow.enabled }}
# the ConfigMap says what became of an edit, and of a rollout; without it, rollouts do not go on
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "vsched.policyConfigMap" . }}]
  verbs: [patch]
{{- if and .Values.schedule .Values.history.enabled }}
# what was used survives restarts in a ConfigMap (no create is limited to a name); without it, it is forgotten
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
# what was used survives restarts in a ConfigMap (no create is limited to a name); without it, it is forgotten
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ .Values.leaderElection.leaseName }}-usage-history]
  verbs: [get, patch]
{{- end }}
{{- if .Values.leaderElection.enabled }}
{{- $leases := list .Values.leaderElection.leaseName }}
{{- if gt (int .Values.shards.count) 1 }}
{{- $leases = list }}
{{- range $shard := until (int .Values.shards.count) }}
{{- $leases = append $leases (printf "%s-%d" $.Values.leaderElection.leaseName $shard) }}
{{- end }}
{{- end }}
{{ include "vsched.leaseRules" $leases }}
{{- end }}
# the leader's pod has a label that a Service selects; without it, the Service leads nowhere
- apiGroups: [""]
  resources: [pods]
  verbs: [list, patch]
{{- end }}
{{- if include "vsched.ownCertificate" . }}
{{ include "vsched.certificateRules" . }}
{{- end }}
{{- end -}}

{{- define "vsched.certificateRules" -}}
# the certificate is made and renewed in a Secret; without it, nothing is served over TLS
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [{{ include "vsched.tlsSecret" . }}]
  verbs: [get, patch]
{{- end -}}

{{- define "vsched.leaseRules" -}}
# a Lease says which replica acts (no create is limited to a name); without it, none does
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
# a Lease says which replica acts (no create is limited to a name); without it, none does
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: {{- toYaml . | nindent 4 }}
  verbs: [get, list, watch, update]
{{- end -}}

{{- define "vsched.workloadRules" -}}
{{- if .Values.workloads.builtIn -}}
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [leaderworkerset.x-k8s.io]
  resources: [leaderworkersets]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [kubeflow.org]
  resources: [pytorchjobs, tfjobs, xgboostjobs, jaxjobs, paddlejobs, mpijobs]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [ray.io]
  resources: [rayclusters, rayjobs, rayservices]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [sparkoperator.k8s.io]
  resources: [sparkapplications]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [argoproj.io]
  resources: [workflows]
  verbs: [list, watch]
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [scheduler.grove.io]
  resources: [podgangs]
  verbs: [list, watch]
{{- end }}
{{- range .Values.workloads.kinds }}
{{- $version := first .apiVersions }}
# operators' objects whose pods are gangs; without it, pods of that kind wait
- apiGroups: [{{ ternary (first (splitList "/" $version)) "" (contains "/" $version) | quote }}]
  resources: [{{ default (printf "%ss" (lower .kind)) .plural }}]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- define "vsched.callerRules" -}}
{{- if eq .Values.access.authentication "tokenreview" -}}
# the API server says whose token it is, and what they may get; without it, nobody may look
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- if not (or .Values.access.allowUsers .Values.access.allowGroups) }}
# the API server says whose token it is, and what they may get; without it, nobody may look
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
{{- end }}
{{- end }}
{{- end -}}

{{- define "vsched.usageRules" -}}
{{- $usage := include "vsched.usageType" . -}}
{{- if eq $usage "metrics_server" -}}
# node usage comes through the API server; without it, requests count instead
- apiGroups: [metrics.k8s.io]
  resources: [nodes]
  verbs: [list]
{{- else if hasPrefix "prometheus_adapt" $usage -}}
# node usage comes through the API server; without it, requests count instead
- apiGroups: [custom.metrics.k8s.io]
  resources:
    {{- range .Values.rbac.customMetrics }}
    - nodes/{{ . }}
    {{- end }}
  verbs: [get]
{{- end }}
{{- end -}}

{{- /* What whoever runs vcjobs follows, in all namespaces. */}}
{{- define "vsched.jobWatchRules" -}}
# vcjobs and what makes them are followed; without it, they are not run
- apiGroups: [batch.volcano.sh]
  resources: [jobs, cronjobs]
  verbs: [list, watch]
# vcjobs and what makes them are followed; without it, they are not run
- apiGroups: [flow.volcano.sh]
  resources: [jobflows, jobtemplates]
  verbs: [list, watch]
# Commands open and close queues, and suspend and resume vcjobs; without it, they have no effect
- apiGroups: [bus.volcano.sh]
  resources: [commands]
  verbs: [list, watch]
{{- if .Values.controllers.volcanoNamespace }}
# vcjobs are left to Volcano's controllers while these run; without it, only their pods are noticed
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [vc-controller-manager]
  verbs: [get]
{{- end }}
{{- end -}}

{{- /* What it does in the namespaces of vcjobs. */}}
{{- define "vsched.jobRules" -}}
# vcjobs get defaults, a status and an end; without it, they stay as they are
- apiGroups: [batch.volcano.sh]
  resources: [jobs]
  verbs: [get, patch, delete]
# vcjobs get defaults, a status and an end; without it, they stay as they are
- apiGroups: [batch.volcano.sh]
  resources: [jobs/status]
  verbs: [update]
# CronJobs and JobFlows make vcjobs; without it, they make none
- apiGroups: [batch.volcano.sh]
  resources: [jobs]
  verbs: [create, get, delete]
# CronJobs and JobFlows make vcjobs; without it, they make none
- apiGroups: [batch.volcano.sh]
  resources: [cronjobs/status]
  verbs: [update]
# CronJobs and JobFlows make vcjobs; without it, they make none
- apiGroups: [flow.volcano.sh]
  resources: [jobflows/status, jobtemplates/status]
  verbs: [update]
# Commands open and close queues, and suspend and resume vcjobs; without it, they have no effect
- apiGroups: [bus.volcano.sh]
  resources: [commands]
  verbs: [delete]
# vcjobs consist of pods; without it, they have none
- apiGroups: [""]
  resources: [pods]
  verbs: [create, get, delete]
# the pods of a vcjob start as a gang; without it, they do not start
- apiGroups: [scheduling.volcano.sh]
  resources: [podgroups]
  verbs: [create, get, patch, delete]
# the plugin svc gives pods names (Service, ConfigMap of hosts, NetworkPolicy); without it, such vcjobs wait
- apiGroups: [""]
  resources: [services]
  verbs: [create, get, delete]
# the plugin svc gives pods names (Service, ConfigMap of hosts, NetworkPolicy); without it, such vcjobs wait
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create, get, patch, delete]
# the plugin svc gives pods names (Service, ConfigMap of hosts, NetworkPolicy); without it, such vcjobs wait
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [create, get, delete]
# the plugin ssh gives pods keys, in Secrets that are never read; without it, such vcjobs wait
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
# vcjobs may ask for volumes; without it, those that do wait
- apiGroups: [""]
  resources: [persistentvolumeclaims]
  verbs: [create, get]
{{- end -}}

{{- /* What vcjobs consist of is made in the namespaces that are named: a dict of the root and the account. */}}
{{- define "vsched.jobBindings" -}}
{{- $root := .root }}
{{- $account := .account }}
{{- $name := printf "%s-vcjob-namespace" (include "vsched.fullname" $root) }}
{{- with fromYamlArray (include "vsched.jobNamespaces" $root) }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels: {{- include "vsched.labels" $root | nindent 4 }}
rules:
  {{- include "vsched.jobRules" $root | nindent 2 }}
{{- range . }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ . }}
  labels: {{- include "vsched.labels" $root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{ $name }}
subjects:
  - kind: ServiceAccount
    name: {{ $account }}
    namespace: {{ $root.Release.Namespace }}
{{- end }}
{{- end }}
{{- end -}}
