{{- define "vsched.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The name of everything this release makes. */}}
{{- define "vsched.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "vsched.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "vsched.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "vsched.selectorLabels" -}}
app.kubernetes.io/name: {{ include "vsched.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "vsched.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name (.Chart.Version | replace "+" "_") }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{ include "vsched.selectorLabels" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "vsched.serviceAccountName" -}}
{{- default (ternary (include "vsched.fullname" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "vsched.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ $tag }}
{{- end -}}
{{- end -}}

{{- define "vsched.policyConfigMap" -}}
{{- default (printf "%s-policy" (include "vsched.fullname" .)) .Values.policy.existingConfigMap -}}
{{- end -}}

{{/* The policy as text, empty where it is in a ConfigMap of somebody else's. */}}
{{- define "vsched.policyText" -}}
{{- include "vsched.check" . -}}
{{- if not .Values.policy.existingConfigMap -}}
{{- default (toYaml .Values.policy.content) .Values.policy.text -}}
{{- end -}}
{{- end -}}

{{/* The table of workload kinds for --workloads; the daemon takes a change of it into force. */}}
{{- define "vsched.workloadsText" -}}
{{- toYaml (dict "builtIn" .Values.workloads.builtIn "workloads" .Values.workloads.kinds) -}}
{{- end -}}

{{/* The Secrets that the policy names, as YAML: a list of namespace and name. */}}
{{- define "vsched.policySecrets" -}}
{{- $metrics := default dict (get (fromYaml (include "vsched.policyText" .)) "metrics") -}}
{{- $found := concat (list) .Values.rbac.policySecrets -}}
{{- range $secret := list (get $metrics "tokenSecret") (get $metrics "passwordSecret") (get (default dict (get $metrics "elasticsearch")) "passwordSecret") -}}
{{- with $secret -}}
{{- $found = append $found (dict "namespace" .namespace "name" .name) -}}
{{- end -}}
{{- end -}}
{{- toYaml (uniq $found) -}}
{{- end -}}

{{/* Where node usage comes from: what the policy says, or what values say of a policy that is not here to be read. */}}
{{- define "vsched.usageType" -}}
{{- $metrics := default dict (get (fromYaml (include "vsched.policyText" .)) "metrics") -}}
{{- default (get $metrics "type") .Values.rbac.usageType -}}
{{- end -}}

{{/* Whether nodes are asked for by ProvisioningRequests: what the policy says, or values of a policy that is not here. */}}
{{- define "vsched.asksForNodes" -}}
{{- $autoscaling := default dict (get (fromYaml (include "vsched.policyText" .)) "autoscaling") -}}
{{- if and .Values.schedule (or (get $autoscaling "provisioningRequest") .Values.rbac.provisioningRequests) -}}true{{- end -}}
{{- end -}}

{{/* Whether nodes are locked while pods get devices: what the policy says, or values of a policy that is not here. */}}
{{- define "vsched.locksNodes" -}}
{{- $found := .Values.rbac.nodeLocks -}}
{{- range $tier := default list (get (fromYaml (include "vsched.policyText" .)) "tiers") -}}
{{- range $plugin := default list $tier.plugins -}}
{{- if and (eq $plugin.name "deviceshare") (get (default dict $plugin.arguments) "deviceshare.NodeLockEnable") -}}
{{- $found = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.schedule $found -}}true{{- end -}}
{{- end -}}

{{/* The ConfigMap with MIG geometries and models of NPUs that the policy reads, as YAML; empty where pods ask for neither. */}}
{{- define "vsched.deviceConfig" -}}
{{- if .Values.schedule -}}
{{- range $tier := default list (get (fromYaml (include "vsched.policyText" .)) "tiers") -}}
{{- range $plugin := default list $tier.plugins -}}
{{- $arguments := default dict $plugin.arguments -}}
{{- $enabled := list (toString (get $arguments "deviceshare.VGPUEnable")) (toString (get $arguments "deviceshare.AscendHAMiVNPUEnable")) -}}
{{- if and (eq $plugin.name "deviceshare") (has "true" $enabled) }}
name: {{ default "volcano-vgpu-device-config" (get $arguments "deviceshare.KnownGeometriesCMName") }}
namespace: {{ default "kube-system" (get $arguments "deviceshare.KnownGeometriesCMNamespace") }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Which webhooks there are: for Consumers and Buckets, and for vcjobs. */}}
{{- define "vsched.consumerWebhook" -}}
{{- if and .Values.arbitration.enabled .Values.webhook.enabled -}}true{{- end -}}
{{- end -}}

{{- define "vsched.jobWebhook" -}}
{{- if and .Values.schedule (not .Values.shadow.enabled) .Values.controllers.jobs .Values.webhook.enabled .Values.webhook.jobs -}}true{{- end -}}
{{- end -}}

{{- define "vsched.webhook" -}}
{{- if or (include "vsched.consumerWebhook" .) (include "vsched.jobWebhook" .) -}}true{{- end -}}
{{- end -}}

{{/* The fields that all webhooks share: a dict of the root, the authority, the path and the failurePolicy. */}}
{{- define "vsched.hook" -}}
admissionReviewVersions: [v1]
sideEffects: None
failurePolicy: {{ .policy }}
timeoutSeconds: {{ .root.Values.webhook.timeoutSeconds }}
matchPolicy: Equivalent
{{- with .root.Values.webhook.namespaceSelector }}
namespaceSelector: {{- toYaml . | nindent 2 }}
{{- end }}
clientConfig:
  service:
    namespace: {{ .root.Release.Namespace }}
    name: {{ include "vsched.fullname" .root }}
    path: {{ .path }}
    port: {{ .root.Values.webhook.port }}
  {{- with .authority }}
  caBundle: {{ . }}
  {{- end }}
{{- end -}}

{{- define "vsched.leaderService" -}}
{{- printf "%s-leader" (include "vsched.fullname" .) -}}
{{- end -}}

{{/* Whether anything is served over TLS. */}}
{{- define "vsched.tls" -}}
{{- if or .Values.tls.listen (include "vsched.webhook" .) -}}true{{- end -}}
{{- end -}}

{{- define "vsched.tlsSecret" -}}
{{- $name := ternary "certificate" "tls" (eq .Values.tls.certificate.source "self") -}}
{{- default (printf "%s-%s" (include "vsched.fullname" .) $name) .Values.tls.certificate.secretName -}}
{{- end -}}

{{/* Whether the pods make and renew the certificate themselves. */}}
{{- define "vsched.ownCertificate" -}}
{{- if and (include "vsched.tls" .) (eq .Values.tls.certificate.source "self") -}}true{{- end -}}
{{- end -}}

{{/* The volume with the certificate. */}}
{{- define "vsched.tlsVolume" -}}
- name: tls
  {{- if include "vsched.ownCertificate" . }}
  emptyDir: {medium: Memory, sizeLimit: 1Mi}
  {{- else }}
  secret: {secretName: {{ include "vsched.tlsSecret" . }}, defaultMode: 0440}
  {{- end }}
{{- end -}}

{{- define "vsched.tlsMount" -}}
- {name: tls, mountPath: /etc/vsched/tls{{ if not (include "vsched.ownCertificate" .) }}, readOnly: true{{ end }}}
{{- end -}}

{{/* What the certificate is for, as YAML: the Services. */}}
{{- define "vsched.tlsNames" -}}
{{- range $service := list (include "vsched.fullname" .) (include "vsched.leaderService" .) (include "vsched.vcjobs" .) }}
- {{ $service }}.{{ $.Release.Namespace }}.svc
- {{ $service }}.{{ $.Release.Namespace }}.svc.cluster.local
{{- end }}
{{- end -}}

{{/* The labels of the metrics of this release, for rules. */}}
{{- define "vsched.series" -}}
job="{{ include "vsched.fullname" . }}",namespace="{{ .Release.Namespace }}"
{{- end -}}

{{/* Whether vcjobs are run in a Deployment of their own, under an account of their own. */}}
{{- define "vsched.jobsApart" -}}
{{- if and .Values.schedule .Values.controllers.jobs .Values.controllers.jobsApart (not .Values.shadow.enabled) -}}true{{- end -}}
{{- end -}}

{{/* The namespaces whose vcjobs are run, as YAML; empty for all of them. */}}
{{- define "vsched.jobNamespaces" -}}
{{- if not (has "*" .Values.controllers.jobNamespaces) -}}
{{- toYaml (uniq .Values.controllers.jobNamespaces) -}}
{{- end -}}
{{- end -}}

{{/* The name of what runs vcjobs. */}}
{{- define "vsched.vcjobs" -}}
{{- printf "%s-vcjobs" (include "vsched.fullname" .) -}}
{{- end -}}

{{- define "vsched.vcjobsAccount" -}}
{{- default (ternary (include "vsched.vcjobs" .) "default" .Values.serviceAccount.create) .Values.serviceAccount.vcjobsName -}}
{{- end -}}

{{- define "vsched.vcjobsSelector" -}}
app.kubernetes.io/name: {{ include "vsched.name" . }}-vcjobs
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Whether jobs are ended by their wall time: what the policy says, or values of a policy that is not here. */}}
{{- define "vsched.endsJobs" -}}
{{- $found := .Values.rbac.wallTime -}}
{{- range $tier := default list (get (fromYaml (include "vsched.policyText" .)) "tiers") -}}
{{- range $plugin := default list $tier.plugins -}}
{{- if eq $plugin.name "wall-time" -}}
{{- $found = true -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.schedule $found -}}true{{- end -}}
{{- end -}}

{{/* A time such as 1m30s in milliseconds. */}}
{{- define "vsched.milliseconds" -}}
{{- $found := 0.0 -}}
{{- range $part := regexFindAll "[0-9]+(\\.[0-9]+)?(ms|s|m|h)" . -1 -}}
{{- $number := regexFind "^[0-9.]+" $part | float64 -}}
{{- $found = addf $found (mulf $number (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) (regexFind "[a-z]+$" $part))) -}}
{{- end -}}
{{- $found -}}
{{- end -}}

{{/* Refuses values that do not go together, and a policy that is not built as policies are. */}}
{{- define "vsched.check" -}}
{{- $lease := .Values.leaderElection -}}
{{- $duration := include "vsched.milliseconds" $lease.leaseDuration | float64 -}}
{{- $deadline := include "vsched.milliseconds" $lease.renewDeadline | float64 -}}
{{- $period := include "vsched.milliseconds" $lease.retryPeriod | float64 -}}
{{- if ge $deadline $duration -}}
{{- fail (printf "leaderElection.renewDeadline: %s is not shorter than leaseDuration (%s): two replicas could act at once" $lease.renewDeadline $lease.leaseDuration) -}}
{{- end -}}
{{- if ge $period $deadline -}}
{{- fail (printf "leaderElection.retryPeriod: %s is not shorter than renewDeadline (%s)" $lease.retryPeriod $lease.renewDeadline) -}}
{{- end -}}
{{- with .Values.policy.text -}}
{{- $policy := fromYaml . -}}
{{- with get $policy "Error" -}}
{{- fail (printf "policy.text: no YAML document with keys: %s" .) -}}
{{- end -}}
{{- range $key, $_ := $policy -}}
{{- if not (has $key (list "actions" "tiers" "configurations" "metrics" "schedulePeriod" "autoscaling")) -}}
{{- fail (printf "policy.text: unknown key %s (expected actions, tiers, configurations, metrics, schedulePeriod, autoscaling)" $key) -}}
{{- end -}}
{{- end -}}
{{- if not (kindIs "string" (default "" $policy.actions)) -}}
{{- fail "policy.text: actions: expected text, as \"enqueue, allocate\"" -}}
{{- end -}}
{{- if not (kindIs "slice" (default list $policy.tiers)) -}}
{{- fail "policy.text: tiers: expected a list" -}}
{{- end -}}
{{- range $index, $tier := default list $policy.tiers -}}
{{- if not (and (kindIs "map" $tier) (kindIs "slice" (default list (get $tier "plugins")))) -}}
{{- fail (printf "policy.text: tiers[%d]: expected a list of plugins under the key plugins" $index) -}}
{{- end -}}
{{- range $place, $plugin := default list (get $tier "plugins") -}}
{{- if not (and (kindIs "map" $plugin) (kindIs "string" (default 0 (get $plugin "name")))) -}}
{{- fail (printf "policy.text: tiers[%d].plugins[%d]: expected a name" $index $place) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/*
The text of the policy's ConfigMap. Whoever edited it in the cluster owns it: what is there stays until the ConfigMap is
deleted. That it was edited shows in the checksum of what Helm wrote last.
*/}}
{{- define "vsched.policyInForce" -}}
{{- $text := include "vsched.policyText" . -}}
{{- $found := lookup "v1" "ConfigMap" .Release.Namespace (include "vsched.policyConfigMap" .) -}}
{{- $there := get (default dict (get (default dict $found) "data")) .Values.policy.key -}}
{{- $written := get (default dict (dig "metadata" "annotations" dict (default dict $found))) "vsched.io/policy-of-values" -}}
{{- if and $written $there (ne $written (sha256sum (trim $there))) -}}
{{- $there -}}
{{- else -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/* Where an alert has its runbook: a dict of the address of the page, and of the alert. */}}
{{- define "vsched.runbook" -}}
{{- if hasSuffix "/" .url -}}
{{- printf "%s%s" .url .alert -}}
{{- else -}}
{{- printf "%s#%s" (default "helm/vsched/runbooks.md" .url) (lower .alert) -}}
{{- end -}}
{{- end -}}

{{/* The labels of the metrics of what runs vcjobs. */}}
{{- define "vsched.vcjobsSeries" -}}
job="{{ include "vsched.vcjobs" . }}",namespace="{{ .Release.Namespace }}"
{{- end -}}
