"""What the long-lived tasks of the daemon do; some have a name of several words."""

from __future__ import annotations

USAGE = "collects what nodes really use, where the policy says from where"
ELECTION = "finds out which of several daemons acts"
SESSIONS = "decides, once the mirror is complete"
GEOMETRIES = "follows the ConfigMap that says how GPUs may be divided"
POLICY_FILE = "takes edits of the policy into force"
HEARTBEAT = "measures how late the event loop is"
AUDIT = "writes decisions into the audit log"
WORK_TRACE = "writes what was seen of the cluster's work into the folder for it"
UPKEEP = "has garbage looked for, every few hours"
ALLOCATIONS = "writes Consumers and Allocations"
USAGE_HISTORY = "keeps the usage history in a ConfigMap"
LEADER_ADDRESS = "says where the leader is"
QUEUES = "opens and closes queues as asked"
PODGROUPS = "makes PodGroups for pods that name none"
VCJOBS = "runs Volcano's Jobs"
EVENTS = "writes Events"


def running_vcjobs(role: str, count: int) -> str:
    return f"{role}: {count:,} vcjobs"


FLOWS = "makes vcjobs for CronJobs and JobFlows"
GATES = "lets pods in that sessions found room for"
PROVISIONING = "asks for nodes by ProvisioningRequests, where the policy says so"
NODE_SHARD = "says on our NodeShard which nodes are in use"
PICTURES = "makes pictures of the cluster for those who watch"
FINDINGS = "logs what a shadow finds"
RECORDINGS = "packs cycles in which something looked wrong"
ADVICE = "finds what would let waiting jobs start"
CHECKS = "checks sessions against the rules"
LOANS_OF_NODES = "loans of nodes"
LOANS = "lends nodes to other shards, and borrows theirs"
SHARDS_TAKEN_OVER = "shards taken over"
HANDOVER = "lists what matters anew before it decides for a shard that another daemon had"


def watch(kind: str) -> str:
    return f"keeps the mirror in step with every {kind}"


WORKLOAD_KINDS = "watches the kinds of the table of workload kinds, and takes edits of the table into force"
PROGRESS = "logs lists that take long"
BINDINGS = "carries placements out"
CLAIMS = "reserves what gangs claim before they are bound"
EVICTIONS = "carries evictions out"
REPRIEVES = "lets refused victims be victims again, in time"
CONFIRMATIONS = "finds bindings that were accepted and are no more"
SETBACKS = "frees pods whose placements failed to be decided again"
WRITEBACK = "writes statuses, conditions and Events"
ROLLOUT = "carries out the rollout of the policy, and takes it back"
POLICY_STATUS = "says on the ConfigMap what became of the policy in it"


def certificate_of(port: str) -> str:
    return f"certificate of {port}"


CERTIFICATES = "takes a renewed certificate into use"
TOKENS = "takes a new list of tokens into use"
