"""What each right of a daemon's account is for, and what stops without it; the chart's roles say the same."""

from __future__ import annotations

# -- what decisions rest on --------------------------------------------------------------------------------------------

CLUSTER = "nodes, pods and what limits them are what decisions rest on; without it, no session starts"
QUEUES_READ = "queues and gangs are what decisions rest on; without it, no session starts"
BUDGETS = "victims are chosen within disruption budgets; without it, evictions are tried that the API server refuses"
NATIVE_READ = "Kubernetes' own PodGroups are scheduled; without it, their pods wait"
SPREAD = "pods are spread by default, and workloads say how many pods start at once; without it, neither counts"
OPERATORS = "operators' objects whose pods are gangs; without it, pods of that kind wait"
STORAGE = "volumes decide where pods fit; without it, pods with claims wait"
DEVICES_READ = "devices decide where pods fit; without it, pods with claims of devices wait"
NEARNESS = "gangs are kept close; without it, HyperNodes do not count"
ZONES = "NUMA zones decide where pods fit; without it, policies of nodes are not known"
RESPONDERS_READ = (
    "responders say that they have ended their pods; without it, these are evicted once their time is over"
)
AUTOSCALERS = "nodes that autoscalers may add are shown and planned with; without it, they are not"
SHARD_READ = "the NodeShard says which nodes are ours; without it, all of them are"

# -- decisions ---------------------------------------------------------------------------------------------------------

BIND = "pods are bound to nodes; without it, no pod is placed"
BOUND = "a pod whose binding no watch has shown is asked about; without it, its node stays taken"
EVICT = "victims are evicted; without it, nothing is taken back"
DELETE_VICTIMS = "victims are deleted; without it, nothing is taken back"
OVERDUE = "jobs whose wall time is over are deleted, whatever disruption budgets say; without it, they go on"
COOPERATE = "victims that opt in are asked to end by themselves first; without it, they are not asked and stay"
VOLUMES = "volumes are chosen for claims, and given back; without it, pods with claims wait"
DEVICES = "devices are allocated to claims, and given back; without it, pods with claims of devices wait"
GATES = "gates of pods that their queue admits are removed; without it, gated pods wait"
LOCKS = "nodes are locked while pods get devices; without it, pods that ask for such devices wait"
BUY = "gangs ask for nodes by ProvisioningRequests; without it, no nodes are added for them"

# -- what is said ------------------------------------------------------------------------------------------------------

CONDITIONS = "conditions say why pods wait, and where they are nominated; without it, kubectl describe does not"
EVENTS = "Events say what was done and why not; without it, there are none"
GROUP_STATUS = "statuses say what gangs wait for; without it, they stay as they were"
QUEUE_STATUS = "statuses say what queues hold; without it, they stay as they were"
DOMAIN = "a PodGroup says in which domain its gang runs; without it, pods that come later may land elsewhere"
NEARNESS_STATUS = "HyperNodes say how many nodes they have; without it, they do not"
SHARD_STATUS = "the NodeShard says which of its nodes are in use; without it, others may take them"

# -- controllers -------------------------------------------------------------------------------------------------------

QUEUE_STATES = "queues that must exist are made, opened and closed; without it, they stay as they are"
COMMANDS = "Commands open and close queues, and suspend and resume vcjobs; without it, they have no effect"
GROUPS = "pods that name no PodGroup get one; without it, they are placed one by one"
NAMES = "pods get the name of the PodGroup made for them; without it, tools of Volcano do not find it"
ARBITRATE = "Consumers and Buckets share the cluster among namespaces; without it, nothing is divided"

# -- vcjobs ------------------------------------------------------------------------------------------------------------

JOBS_READ = "vcjobs and what makes them are followed; without it, they are not run"
JOBS_TOLD = "it is said why a vcjob has no pods; without it, it is not"
NAMESPACES = "nothing is made in a namespace that is being deleted; without it, that is tried in vain"
JOBS = "vcjobs get defaults, a status and an end; without it, they stay as they are"
JOBS_MADE = "CronJobs and JobFlows make vcjobs; without it, they make none"
JOB_PODS = "vcjobs consist of pods; without it, they have none"
JOB_GROUPS = "the pods of a vcjob start as a gang; without it, they do not start"
JOB_NAMES = "the plugin svc gives pods names (Service, ConfigMap of hosts, NetworkPolicy); without it, such vcjobs wait"
JOB_KEYS = "the plugin ssh gives pods keys, in Secrets that are never read; without it, such vcjobs wait"
JOB_CLAIMS = "vcjobs may ask for volumes; without it, those that do wait"
VOLCANO = "vcjobs are left to Volcano's controllers while these run; without it, only their pods are noticed"

# -- the process itself ------------------------------------------------------------------------------------------------

LEASE = "a Lease says which replica acts (no create is limited to a name); without it, none does"
HISTORY = "what was used survives restarts in a ConfigMap (no create is limited to a name); without it, it is forgotten"
POLICY = "the policy is in a ConfigMap; without it, the daemon does not start"
POLICY_STATUS = "the ConfigMap says what became of an edit, and of a rollout; without it, rollouts do not go on"
GEOMETRIES = "a ConfigMap says how devices may be divided; without it, pods that ask for parts of them wait"
USAGE = "node usage comes through the API server; without it, requests count instead"
CREDENTIALS = "the source of node usage is asked with a Secret; without it, requests count instead"
LEADER_POD = "the leader's pod has a label that a Service selects; without it, the Service leads nowhere"
LEADER_ENDPOINTS = "the leader's address is in an EndpointSlice; without it, the Service leads nowhere"
CERTIFICATE = "the certificate is made and renewed in a Secret; without it, nothing is served over TLS"
TRUST = "the API server learns which authority to trust; without it, it asks no webhook"
CALLERS = "the API server says whose token it is, and what they may get; without it, nobody may look"
