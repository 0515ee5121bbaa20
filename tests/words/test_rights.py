"""What each right is for, and what stops without it, as vsched rbac and the chart say it."""

from __future__ import annotations

from vsched.cli.rbac import words
from vsched.daemon.permissions.needs import Right
from vsched.daemon.words import rights

SENTENCES = [
    # daemon/words/rights
    (rights.CLUSTER, "nodes, pods and what limits them are what decisions rest on; without it, no session starts"),
    (rights.QUEUES_READ, "queues and gangs are what decisions rest on; without it, no session starts"),
    (
        rights.BUDGETS,
        "victims are chosen within disruption budgets; without it, evictions are tried that the API server refuses",
    ),
    (rights.NATIVE_READ, "Kubernetes' own PodGroups are scheduled; without it, their pods wait"),
    (
        rights.SPREAD,
        "pods are spread by default, and workloads say how many pods start at once; without it, neither counts",
    ),
    (rights.OPERATORS, "operators' objects whose pods are gangs; without it, pods of that kind wait"),
    (rights.STORAGE, "volumes decide where pods fit; without it, pods with claims wait"),
    (rights.DEVICES_READ, "devices decide where pods fit; without it, pods with claims of devices wait"),
    (rights.NEARNESS, "gangs are kept close; without it, HyperNodes do not count"),
    (rights.ZONES, "NUMA zones decide where pods fit; without it, policies of nodes are not known"),
    (
        rights.RESPONDERS_READ,
        "responders say that they have ended their pods; without it, these are evicted once their time is over",
    ),
    (rights.AUTOSCALERS, "nodes that autoscalers may add are shown and planned with; without it, they are not"),
    (rights.SHARD_READ, "the NodeShard says which nodes are ours; without it, all of them are"),
    (rights.BIND, "pods are bound to nodes; without it, no pod is placed"),
    (rights.BOUND, "a pod whose binding no watch has shown is asked about; without it, its node stays taken"),
    (rights.EVICT, "victims are evicted; without it, nothing is taken back"),
    (rights.DELETE_VICTIMS, "victims are deleted; without it, nothing is taken back"),
    (
        rights.OVERDUE,
        "jobs whose wall time is over are deleted, whatever disruption budgets say; without it, they go on",
    ),
    (
        rights.COOPERATE,
        "victims that opt in are asked to end by themselves first; without it, they are not asked and stay",
    ),
    (rights.VOLUMES, "volumes are chosen for claims, and given back; without it, pods with claims wait"),
    (rights.DEVICES, "devices are allocated to claims, and given back; without it, pods with claims of devices wait"),
    (rights.GATES, "gates of pods that their queue admits are removed; without it, gated pods wait"),
    (rights.LOCKS, "nodes are locked while pods get devices; without it, pods that ask for such devices wait"),
    (rights.BUY, "gangs ask for nodes by ProvisioningRequests; without it, no nodes are added for them"),
    (
        rights.CONDITIONS,
        "conditions say why pods wait, and where they are nominated; without it, kubectl describe does not",
    ),
    (rights.EVENTS, "Events say what was done and why not; without it, there are none"),
    (rights.GROUP_STATUS, "statuses say what gangs wait for; without it, they stay as they were"),
    (rights.QUEUE_STATUS, "statuses say what queues hold; without it, they stay as they were"),
    (
        rights.DOMAIN,
        "a PodGroup says in which domain its gang runs; without it, pods that come later may land elsewhere",
    ),
    (rights.NEARNESS_STATUS, "HyperNodes say how many nodes they have; without it, they do not"),
    (rights.SHARD_STATUS, "the NodeShard says which of its nodes are in use; without it, others may take them"),
    (rights.QUEUE_STATES, "queues that must exist are made, opened and closed; without it, they stay as they are"),
    (rights.COMMANDS, "Commands open and close queues, and suspend and resume vcjobs; without it, they have no effect"),
    (rights.GROUPS, "pods that name no PodGroup get one; without it, they are placed one by one"),
    (rights.NAMES, "pods get the name of the PodGroup made for them; without it, tools of Volcano do not find it"),
    (rights.ARBITRATE, "Consumers and Buckets share the cluster among namespaces; without it, nothing is divided"),
    (rights.JOBS_READ, "vcjobs and what makes them are followed; without it, they are not run"),
    (rights.JOBS_TOLD, "it is said why a vcjob has no pods; without it, it is not"),
    (rights.NAMESPACES, "nothing is made in a namespace that is being deleted; without it, that is tried in vain"),
    (rights.JOBS, "vcjobs get defaults, a status and an end; without it, they stay as they are"),
    (rights.JOBS_MADE, "CronJobs and JobFlows make vcjobs; without it, they make none"),
    (rights.JOB_PODS, "vcjobs consist of pods; without it, they have none"),
    (rights.JOB_GROUPS, "the pods of a vcjob start as a gang; without it, they do not start"),
    (
        rights.JOB_NAMES,
        "the plugin svc gives pods names (Service, ConfigMap of hosts, NetworkPolicy); without it, such vcjobs wait",
    ),
    (rights.JOB_KEYS, "the plugin ssh gives pods keys, in Secrets that are never read; without it, such vcjobs wait"),
    (rights.JOB_CLAIMS, "vcjobs may ask for volumes; without it, those that do wait"),
    (
        rights.VOLCANO,
        "vcjobs are left to Volcano's controllers while these run; without it, only their pods are noticed",
    ),
    (rights.LEASE, "a Lease says which replica acts (no create is limited to a name); without it, none does"),
    (
        rights.HISTORY,
        "what was used survives restarts in a ConfigMap (no create is limited to a name); without it, it is forgotten",
    ),
    (rights.POLICY, "the policy is in a ConfigMap; without it, the daemon does not start"),
    (
        rights.POLICY_STATUS,
        "the ConfigMap says what became of an edit, and of a rollout; without it, rollouts do not go on",
    ),
    (
        rights.GEOMETRIES,
        "a ConfigMap says how devices may be divided; without it, pods that ask for parts of them wait",
    ),
    (rights.USAGE, "node usage comes through the API server; without it, requests count instead"),
    (rights.CREDENTIALS, "the source of node usage is asked with a Secret; without it, requests count instead"),
    (rights.LEADER_POD, "the leader's pod has a label that a Service selects; without it, the Service leads nowhere"),
    (rights.LEADER_ENDPOINTS, "the leader's address is in an EndpointSlice; without it, the Service leads nowhere"),
    (rights.CALLERS, "the API server says whose token it is, and what they may get; without it, nobody may look"),
    (rights.CERTIFICATE, "the certificate is made and renewed in a Secret; without it, nothing is served over TLS"),
    (rights.TRUST, "the API server learns which authority to trust; without it, it asks no webhook"),
    # cli/rbac
    (
        words.is_missing(Right("get", "", "secrets", "monitoring", "prometheus"), rights.CREDENTIALS),
        "missing: get secrets prometheus in namespace monitoring: the source of node usage is asked with a Secret; "
        "without it, requests count instead",
    ),
    (
        words.is_missing(Right("patch", "scheduling.volcano.sh", "queues/status"), "w"),
        "missing: patch queues/status.scheduling.volcano.sh: w",
    ),
    (words.some_missing(2, 90), "2 of 90 rights are missing (vsched rbac prints the roles)"),
    (words.none_missing(90), "all 90 rights are there"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
