"""What ``vsched migrate check`` says of each thing that it finds, and the steps that it names."""

from __future__ import annotations

# -- Volcano's own parts, and webhooks ---------------------------------------------------------------------------------

OWN_PARTS = "Volcano's own parts"
SCHEDULER_REPLACED = "vsched takes its place"
CONTROLLERS_MAY_STAY = "may stay: they go on with queues, PodGroups and vcjobs, and vsched's controllers are off"
ONE_REPLICA = "one replica places all pods, the others wait"


def none_in_namespace(namespace: str) -> str:
    return f"there is none in namespace {namespace} (-n says where it is)"


NO_CONTROLLERS = "none run: vsched's own look after queues, PodGroups and vcjobs"


def reviews(asked: str) -> str:
    return f"reviews {asked}; lets them pass while nobody answers"


def reviews_and_blocks(asked: str) -> str:
    return f"reviews {asked}; delete the configuration before you scale the webhooks down: nobody could {asked} then"


def refused(asked: str) -> str:
    return f"nobody answers, so the API server refuses to {asked}: start the webhooks, or delete the configuration"


# -- flags of the scheduler --------------------------------------------------------------------------------------------

FLAGS = "flags of the scheduler"
GATES_CONTROLLER = "the controller of gates (controllers.gates)"
BUDGETS_COUNT = "disruption budgets always count"
NUMA_AWARE_DECIDES = "the plugin numa-aware decides"
LEADER_ELECTION = "leaderElection of the chart"
NO_SUCH_FLAG = "vsched has no such flag (vsched run --help)"


def cannot_be_switched_off(gate: str, why: str) -> str:
    return f"{gate} cannot be switched off here: {why}"


def no_gate(gate: str) -> str:
    return f"vsched has no gate {gate}"


NO_PPROF = "there is no pprof"
ALL_PROVISIONERS = "volumes of every provisioner count"
ALL_NODES_USED = "vsched places pods on all nodes: keep them off others by taints or node selectors"
NO_GO_PLUGINS = "plugins in Go cannot be loaded; those of vsched are Python packages"
PRIORITIES_COUNT = "priorities always count"
OWN_CONNECTION = "vsched has a connection and certificates of its own (tls of the chart)"
LOG_LEVEL = "logLevel of the chart"
ALL_NODES_LOOKED_AT = "vsched looks at all nodes"
NOTHING_TO_SET = "nothing has to be set"
SCHEDULER_NAMES = "schedulerNames of the chart"
POLICY_BELOW = "the policy: below"
SESSIONS_ON_CHANGE = "sessions start on change, and at least this often: extraArgs=[--schedule-period=…]"
DEFAULT_QUEUE = "defaultQueue of the chart"
SERVICE_PORT = "service.port of the chart"
HEALTH_PORT = "healthPort of the chart"
API_QPS = "api.qps of the chart"
API_BURST = "api.burst of the chart"
CAPACITIES_COUNT = "storage capacities always count"
DUMP_INSTEAD = "vsched dump instead of a signal"
SHARD_MODE = "nodeShard.mode of the chart"
SHARD_NAME = "nodeShard.name of the chart"


# -- annotations and labels --------------------------------------------------------------------------------------------

KEYS = "annotations and labels"
NO_OTHER_CLUSTERS = "has no effect: there are no other clusters"
FOR_THE_AGENT = "for Volcano's agent on nodes; no scheduler reads it"
FOR_DEVICESHARE = "read and written where the policy has the plugin deviceshare"
NOT_READ = "vsched does not read it"


# -- objects and pods --------------------------------------------------------------------------------------------------

POD_WAITS = "what is not supported makes the pod wait"
VOLCANO_CRON_JOBS = "cronjobs of batch.volcano.sh"
WHERE_SHARDS_COUNT = "where nodeShard.mode of the chart is soft or hard"
NO_PARENT = "its parent is not there"
KEEP_CONTROLLERS = "Volcano's controllers go on with them: keep their Deployment"
NO_CONTROLLER = "vsched has no controller for them, and Volcano's do not run"
TAKEN_OVER = "taken over once Volcano's scheduler is gone"
LEFT_TO_OTHERS = "left to others"


# -- the policy --------------------------------------------------------------------------------------------------------

OF_WHAT_IS_MISSING = "belongs to what is missing"


# -- where the policy is -----------------------------------------------------------------------------------------------


def no_config_map(namespace: str) -> str:
    return f"no ConfigMap of namespace {namespace} has it: vsched check FILE checks a file"


BUILT_IN_POLICY = "the scheduler names none: Volcano's built-in one holds, and vsched has its own"


# -- steps -------------------------------------------------------------------------------------------------------------

INSTALL_BESIDE = (
    "install vsched beside Volcano, under a name of its own; try it on one job with spec.schedulerName: vsched"
)
SCALE_DOWN = "scale Volcano's scheduler down: two schedulers must never place the same pods"
PLACE_PODS = "have vsched place its pods"
SAVE_POLICY = "save the policy, and change in it what is missing above"


def check_file(file: str) -> str:
    return f"vsched check {file}"


LEAVE_PODS = "vsched leaves the pods to Volcano again"
TAKE_AWAY = "take vsched away, once no job names it"


# -- the page ----------------------------------------------------------------------------------------------------------

TO_CHANGE_BACK = "To change back"
