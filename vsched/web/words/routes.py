"""What each page of the web server holds, as its index says it."""

from __future__ import annotations

# -- for everybody -----------------------------------------------------------------------------------------------------

METRICS = "metrics in Prometheus' text format"
CONFIGZ = "the policy in force, the last reload, and the build"
QUEUES = "queues: shares and amounts"
JOBS = "PodGroups: phase, counts, why they wait"
NODES = "nodes: amounts"
ALLOCATIONS = "namespaces: what they deserve and hold"
PAGE = "the files of the page"
OVERVIEW = "everything the page shows, as JSON"
EVENTS = "the same as server-sent events: first everything, then the changes"
EXPLAIN = "why a pod or a PodGroup waits; ?kind=, ?changes=, ?seconds="
EXPLAIN_QUEUE = "why the jobs of a queue wait; ?changes=, ?seconds="
PODS = "pods and evictions of ?job=NAMESPACE/NAME or of ?node=NAME"
EVICTIONS = "the last evictions: who, for whom, and why"
QUEUE_HISTORY = "shares of queues over time: ?span=hour|week ?queue=NAME ?most=8 ?points=60"
USAGE_HISTORY = "resource-hours of the last ?since=SECONDS ?by=queue,namespace,user"
DEVICES = "devices of nodes, how much of each is in use and by whom, and who holds each resource: ?node=NAME,NAME"
AUTOSCALING = "ProvisioningRequests of gangs, and CapacityBuffers"
SHADOW = "what a shadow finds beside the scheduler in charge: ?since=SECONDS"
DUMP = "a recording of the next session, for vsched replay: gzipped JSON"
RECORDINGS = "sessions recorded because something looked wrong"
RECORDING = "one of them, in the format of /dump"
PROFILE = "where the daemon spends its time, from samples of its stacks: ?seconds="

OPENAPI = "all of this as an OpenAPI document"

# -- in the OpenAPI document -------------------------------------------------------------------------------------------

API = "What a vsched daemon serves over HTTP."
ANSWER = "the answer"
NO_ANSWER = "why there is none"
THIS_MACHINE_ONLY = "Without --authentication, only this machine may ask."
KIND = "pod or podgroup; either where it is not given"
CHANGES = "whether changes that would help are searched (true)"
SECONDS = "how long they are searched (2), 20 at most"
JOB = "the pods of this job, NAMESPACE/NAME"
NODE = "the pods of this node"
SPAN = "the last hour or the last week (hour)"
QUEUE = "this queue alone"
MOST = "so many of the busiest queues"
POINTS = "so many points for each queue (60)"
SINCE = "seconds up to now (86400)"
SHADOW_SINCE = "seconds up to now, from the log (everything)"
BY = "by what hours are counted: queue, namespace and user, or some of them with commas between them"
SOME_NODES = "names of nodes, with commas between them; without any, the first that have devices"
ONLY = "resources: only who holds each resource"
PROFILE_SECONDS = "how long it samples (5), 20 at most"
ANONYMOUS = "whether names are made up (false)"


def at_address(flag: str) -> str:
    return f"served at {flag}"


# -- for the cluster ---------------------------------------------------------------------------------------------------

LIVEZ = "liveness: whether the event loop runs"
READYZ = "readiness: whether the cache is synced"
HEALTHZ = "the same as /livez"
EXTENDER_FILTER = "for kube-scheduler: whether the namespace of a pod may have it"


def not_offered(why: str) -> str:
    return f"not offered: {why}"


KUBE_SCHEDULER_SCORES = "kube-scheduler scores nodes; the arbitrator only limits amounts"
ARBITRATOR_EVICTS = "the arbitrator evicts by what namespaces deserve, through the Eviction API, not by priority"
KUBE_SCHEDULER_BINDS = "kube-scheduler binds its pods; the arbitrator places none"
JOB_VALIDATE = "validates vcjobs, CronJobs, JobFlows and JobTemplates"
JOB_MUTATE = "sets the defaults of new vcjobs"
VALIDATE = "validates Consumers and Buckets"
