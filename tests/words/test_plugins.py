"""All that the plugins say."""

from __future__ import annotations

import pytest

from vsched.framework.refusal import Shortage
from vsched.plugins.words import arguments, devices, jobs, nodes, queues, victims

CPU = Shortage("cpu", held=6000, asked=4000, limit=8000)
MEMORY = Shortage("memory", held=0, asked=2 << 30, limit=1 << 30)

SAID: list[tuple[str, str]] = [
    # -- arguments in the policy ---------------------------------------------------------------------------------------
    (arguments.CACHE_INERT, "what can be remembered is remembered anyway"),
    (arguments.below_zero("cpu", "-1"), "cpu: '-1' is below zero (expected zero or more)"),
    (
        arguments.MIND_CLUSTER,
        "deviceshare.AscendMindClusterVNPUEnable: it is not supported (expected false or nothing)",
    ),
    (
        arguments.SEVERAL_KINDS,
        "deviceshare.GPUSharingEnable, deviceshare.GPUNumberEnable, deviceshare.VGPUEnable: several are "
        "true (expected one of them at most)",
    ),
    (
        arguments.NO_GEOMETRIES,
        "deviceshare.KnownGeometriesCMName, deviceshare.KnownGeometriesCMNamespace: one is empty "
        "(expected a ConfigMap and its namespace)",
    ),
    (arguments.RULES_WITHOUT_VGPU, "deviceshare.GPUExclusiveRules: it needs deviceshare.VGPUEnable: true"),
    (arguments.RULE_WITHOUT_LABELS, "deviceshare.GPUExclusiveRules: a rule has no labels (expected some)"),
    (
        arguments.unknown_schedule_policy("tight"),
        "deviceshare.SchedulePolicy: 'tight' is unknown (expected binpack or spread)",
    ),
    (arguments.negative_weight("cpu", -1), "resourceWeights.cpu: expected a number of at least 0, got -1"),
    (arguments.NO_URL_PREFIX, "extender.urlPrefix: missing; expected the http or https address that verbs belong to"),
    (
        arguments.bad_url_prefix("ftp://a"),
        "extender.urlPrefix: expected http(s)://host[:port][/path], such as http://127.0.0.1:8080, got 'ftp://a'",
    ),
    (arguments.TIERS_FALL, "hypernode.labels: tiers have to rise from each label to the next (closest first)"),
    (arguments.LABEL_TWICE, "hypernode.labels: a key is there twice (expected each label once)"),
    (arguments.label_without_key(0), "hypernode.labels: entry 0 has no key (expected the key of a node label)"),
    (arguments.tier_below_zero(-1), "hypernode.labels: tier -1 is below zero (expected zero or more)"),
    (
        arguments.utilizations_fall([0, 50, 50]),
        "volumebinding.shape: the utilizations are 0, 50, 50 (expected each to be greater than the one before)",
    ),
    (arguments.no_metrics_period("soon"), "metricsPeriod: expected a length of time such as 5m or 1h, got 'soon'"),
    (
        arguments.low_and_high(0, "cpu", 70, 60),
        "strategies: [0].params: thresholds.cpu is 70, above targetThresholds.cpu with 60; a node would "
        "be low and high at once",
    ),
    (
        arguments.star_inside("*.com/gpu"),
        "resources.*.com/gpu: expected a name, or its beginning and one star after it",
    ),
    (arguments.no_period(), "usage.period: expected a number and s, m or h, such as 5m"),
    (arguments.no_threshold("gpu"), "thresholds.gpu: expected cpu, mem, CPUUsageAvg.<period> or MEMUsageAvg.<period>"),
    (
        arguments.threshold_without_period("CPUUsageAvg.soon"),
        "thresholds.CPUUsageAvg.soon: expected a number and s, m or h, such as 5m at the end",
    ),
    (
        arguments.threshold_twice("CPUUsageAvg.5m", "cpu", "5m"),
        "thresholds.CPUUsageAvg.5m: the threshold of cpu over 5m is given twice",
    ),
    (arguments.estimate_below_zero("be_cpu"), "estimator.be_cpu: expected zero or more"),
    (arguments.window_out_of_range(0, 168), "window: 0s (expected more than 0 and at most 168h)"),
    # -- nodes ---------------------------------------------------------------------------------------------------------
    (nodes.SILENT, "the extender did not answer"),
    (nodes.MISFIT, "the extender's answer is not what was expected"),
    (nodes.OTHER_REASON, "the extender has other reasons against the node"),
    (nodes.REJECTED, "the extender rejected it"),
    (nodes.OTHER_GROUP, "node(s) weren't in a node group of the queue"),
    (nodes.GROUP_AT_LIMIT, "node(s) were in a node group where the queue has reached its limit"),
    (nodes.LIMITS_UNREADABLE, "node(s) were ruled out: the queue's limits by node group cannot be read"),
    (nodes.NO_REPORT, "node(s) whose numa info is empty"),
    (nodes.NOT_STATIC, "node(s) whose cpu manager policy isn't static"),
    (nodes.NO_CPUS, "node(s) whose cpu allocatable map is empty"),
    (nodes.NOT_TOGETHER, "node(s) had no NUMA nodes with enough of everything that a container requests"),
    (
        nodes.other_policy("restricted", "single-numa-node"),
        "node(s) whose topology policy restricted is different from the task's single-numa-node",
    ),
    (nodes.no_zone("cpu"), "node(s) had too little cpu free in every NUMA node"),
    (nodes.too_few_zones("cpu"), "node(s) had too little cpu free in as few NUMA nodes as could hold it"),
    (nodes.OTHER_NODE, "node(s) didn't match the requested node name"),
    (
        nodes.rules_too_costly(250_000),
        "node(s) were not checked: the pod's affinity rules take more than 250,000 comparisons",
    ),
    (nodes.reserved_beside("nvidia.com/gpu"), "node(s) reserved cpu and memory for pods that ask for nvidia.com/gpu"),
    (nodes.ZONE_CLOSED, "node(s) were in a revocable zone that is closed now"),
    (nodes.NOT_REVOCABLE, "node(s) were in a revocable zone that the pod may not use"),
    (nodes.usage_above("cpu", 80.0, "5m"), "node(s) had cpu usage above 80% (5m average)"),
    # -- victims, and who goes first -----------------------------------------------------------------------------------
    (victims.COOLING_DOWN, "their cool-down after the start is not over"),
    (victims.SYSTEM_CRITICAL, "they are system-critical"),
    (victims.NO_LARGER_SHARE, "their jobs do not hold a larger share"),
    (victims.BELOW_MINIMUM, "their gangs would fall below the minimum"),
    (victims.MIN_RUNTIME, "their minimum run time is not over"),
    (victims.PRIORITY_NOT_LOWER, "their priority is not lower"),
    (victims.QUEUES_HOLD_NO_MORE, "their queues do not hold more than they deserve"),
    (victims.OWN_BUDGETS_SPENT, "their jobs' own disruption budgets are used up"),
    (victims.USAGE_NOT_HIGHER, "the usage of their nodes is not higher"),
    (victims.DELAYED, "its preemption delay is not over"),
    (victims.SMALLER_SHARE, "has the smaller share"),
    (victims.MINIMUM_NOT_REACHED, "has not reached its minimum yet"),
    (victims.EARLIER_DEADLINE, "has the earlier deadline"),
    (victims.NOT_FOR_WINDOWS, "is not for time windows"),
    (victims.USED_LESS, "has used less of its share"),
    # -- jobs ----------------------------------------------------------------------------------------------------------
    (jobs.GANG_READY, "tasks in gang are ready to be scheduled"),
    (jobs.NOT_ADMITTED, "its queue has not admitted it"),
    (jobs.some_exist(1, 3, ""), "1 of the gang's 3 pods exist"),
    (jobs.some_exist(1, 3, jobs.pods_gone(1, 0, 0)), "1 of the gang's 3 pods exist (1 failed)"),
    (jobs.none_exists(3, ""), "no pods exist, and the gang needs 3"),
    (jobs.none_exists(3, jobs.pods_gone(0, 2, 0)), "no pods are left, and the gang needs 3 (2 leaving)"),
    (jobs.none_is_for_it(1, "another scheduler has 2", ""), "the gang needs 1 pod, and another scheduler has 2"),
    (
        jobs.none_is_for_it(3, "another scheduler has 2", jobs.pods_gone(0, 0, 1)),
        "the gang needs 3 pods, and another scheduler has 2 (1 in an unknown state)",
    ),
    (jobs.pods_gone(0, 0, 0), ""),
    (jobs.pods_gone(1, 2, 3), " (1 failed, 2 leaving, 3 in an unknown state)"),
    (jobs.others_too("1 of 3 exist", ""), "1 of 3 exist"),
    (jobs.others_too("1 of 3 exist", "another scheduler has 2"), "1 of 3 exist; another scheduler has 2"),
    (jobs.roles_lack_pods([("ps", 0, 1)], 0), "role ps has 0 of the 1 pod that it needs"),
    (
        jobs.roles_lack_pods([("ps", 0, 2), ("", 1, 4)], 3),
        "role ps has 0 of the 2 pods that it needs, (none) 1 of 4, and 3 more lack pods",
    ),
    (jobs.sub_groups_lack_pods("w has 0 of 2 groups"), "not enough pods exist for its sub-groups: w has 0 of 2 groups"),
    (jobs.sub_groups_to_place("w has 0 of 2 groups"), "sub-groups must be placed: w has 0 of 2 groups"),
    (jobs.tasks_to_place(1, 4), "1 more of the minimum of 4 tasks must be placed"),
    (
        jobs.sub_group_shortages(["v has 0 of 1 groups", "w has 0 of 2 groups"], 0),
        "v has 0 of 1 groups; w has 0 of 2 groups",
    ),
    (jobs.sub_group_shortages(["w has 0 of 2 groups"], 2), "w has 0 of 2 groups; and 2 more policies"),
    (
        jobs.sub_group_shortage("w", 1, 2, 4, [("w/b", 1), ("w/c", 2)], 3),
        "w has 1 of 2 sub-groups of 4 pods (w/b lacks 1, w/c lacks 2, 3 more lack some)",
    ),
    (jobs.sub_group_shortage("w", 0, 1, 1, [], 0), "w has 0 of 1 sub-groups of 1 pod"),
    (jobs.sub_group_shortage("w", 0, 2, None, [("w/b", 1)], 0), "w has 0 of 2 groups (w/b lacks 1)"),
    (jobs.runs_enough_jobs(1000, 1000, queue="a"), "queue a runs 1,000 of at most 1000 jobs"),
    (jobs.runs_enough_jobs(0, 0, queue="a"), "queue a may run no job"),
    (jobs.runs_enough_jobs(1, 1, queue="a", user="ann"), "user ann runs 1 of at most 1 job in queue a"),
    (jobs.runs_enough_jobs(1, 1, queue="a", namespace="ns"), "namespace ns runs 1 of at most 1 job in queue a"),
    (jobs.runs_enough_jobs(1, 1, user="ann"), "user ann runs 1 of at most 1 job in the cluster"),
    (jobs.unknown_role("zebra"), "task-topology: no pod has the role 'zebra', so the roles' affinities do not count"),
    (
        jobs.NOT_ENDED,
        "its wall time does not end it: its controller would create new pods, which no PodGroup holds back",
    ),
    (jobs.wall_time_over("1h"), "its wall time of 1h is over"),
    (jobs.asks_for_too_long("2h", "1h", queue="a"), "asks for 2h of wall time, and queue a allows 1h"),
    (jobs.asks_for_too_long("2h", "1h", queue="a", user="ann"), "asks for 2h of wall time, and user ann may have 1h"),
    # -- queues --------------------------------------------------------------------------------------------------------
    (queues.names_of([CPU, MEMORY]), "cpu, memory"),
    (queues.called("a", "a"), "queue a"),
    (queues.called("root", "a"), "queue root above queue a"),
    (queues.not_open("a", "Closed"), "queue a is Closed, not Open"),
    (
        queues.not_open("a", "Closed", "root", "Closing"),
        "queue a is Closed, not Open, and queue root above it is Closing",
    ),
    (queues.ignored("a", queues.parent_gone("p")), "queue a is ignored: its parent p does not exist"),
    (queues.not_leaf("a"), "queue a has child queues; submit jobs to one of these"),
    (queues.parent_gone("p"), "its parent p does not exist"),
    (queues.circle(["a", "b", "a"]), "its parents form a circle: a, b, a"),
    (
        queues.below_left_out("p", queues.parent_gone("r")),
        "it is below queue p, left out as its parent r does not exist",
    ),
    (
        queues.below_left_out("q", queues.below_left_out("p", queues.parent_gone("r"))),
        "it is below queue p, left out as its parent r does not exist",
    ),
    (queues.reduced("p", "deserved 4 cpu to 2"), "reduced to what its parent p passes on: deserved 4 cpu to 2"),
    (queues.jobs_and_children(""), "jobs in it get nothing because it has child queues"),
    (
        queues.jobs_and_children(queues.parent_gone("p")),
        "jobs in it get nothing because it has child queues; its parent p does not exist",
    ),
    (queues.over_limit("a", "a", "cpu, memory"), "queue a would hold more than it may of cpu, memory"),
    (queues.over_limit("root", "a", "cpu"), "queue root above queue a would hold more than it may of cpu"),
    (queues.over_share("a", "cpu", capability=True), "queue a would hold more than its capability of cpu"),
    (queues.over_share("a", "cpu", capability=False), "queue a would hold more than it deserves of cpu"),
    (queues.quota_insufficient("queue a", "cpu"), "queue a resource quota insufficient: insufficient cpu"),
    (queues.guarantee_kept(["b"], "", CPU), "what queue b is guaranteed is kept free: 6 of 8 cpu held, 4 more asked"),
    (
        queues.guarantee_kept(["b", "c"], "p", CPU),
        "what queues b and c are guaranteed is kept free in queue p: 6 of 8 cpu held, 4 more asked",
    ),
    (queues.beyond_cluster([CPU, MEMORY]), "the cluster has 8 cpu in all: 4 asked; 1Gi memory in all: 2Gi asked"),
    (queues.overused("cpu"), "resource in cluster is overused: overused cpu"),
    # -- devices -------------------------------------------------------------------------------------------------------
    (devices.NO_ROOM, "node(s) had too few devices with enough memory and computing power left"),
    (devices.NOT_FOR_ALL, "node(s) had too few devices for all containers of the pod"),
    (devices.ONLY_WHOLE, "node(s) can share one NPU with a container, but several only whole"),
    (devices.not_tried("no such model"), "node(s) not tried: no such model"),
    (
        devices.not_enabled("volcano.sh/vgpu-number", "deviceshare.VGPUEnable"),
        "the policy does not enable volcano.sh/vgpu-number (deviceshare.VGPUEnable)",
    ),
    (devices.no_devices("vgpu"), "node(s) had no registered devices of the kind vgpu"),
    (devices.other_mode("mig"), "node(s) whose devices use another mode than mig"),
    (devices.none_accepted(""), "node(s) had no device that the pod accepts"),
    (devices.none_accepted("type"), "node(s) had no device of a type that the pod accepts"),
    (devices.none_accepted("uuid"), "node(s) had no device with a uuid that the pod accepts"),
    (devices.too_few(1), "node(s) had no device"),
    (devices.too_few(2), "node(s) had fewer than 2 devices"),
    (devices.too_few(2, accepted=True), "node(s) had fewer than 2 devices that the pod accepts"),
    (devices.too_few(1, adjective=devices.HEALTHY), "node(s) had no healthy device"),
    (devices.too_few(2, adjective=devices.HEALTHY), "node(s) had fewer than 2 healthy devices"),
    (devices.too_few(1, devices.BESIDE_CLAIMS), "node(s) had no device beside those for claims"),
    (devices.too_few(1, devices.KNOWN_MODEL), "node(s) had no device of a model with known MIG geometries"),
    (devices.too_few(1, devices.UNUSED), "node(s) had no device that no pod uses"),
    (devices.too_few(1, devices.SHAREABLE), "node(s) had no device that one more container may share"),
    (devices.too_few(1, devices.APART_FROM_JOB), "node(s) had no device left that no other pod of its job uses"),
    (
        devices.too_few(1, devices.APART_BY_RULE),
        "node(s) had no device left that no pod of the same exclusive rule uses",
    ),
    (devices.too_few(1, devices.having(devices.memory(5120, 0))), "node(s) had no device with 5120 MiB of memory"),
    (
        devices.too_few(1, devices.having_left(devices.power(50.0))),
        "node(s) had no device with 50% of computing power left",
    ),
    (
        devices.too_few(1, devices.having_instance(devices.memory(0, 25))),
        "node(s) had no device with a MIG instance of 25% of memory",
    ),
    (
        devices.too_few(1, devices.having_free_instance(devices.memory(5120, 0))),
        "node(s) had no device with a free MIG instance of 5120 MiB of memory",
    ),
    (devices.power(0), "computing power"),
    (devices.device("GPU-1", "n1", ""), "GPU-1 of n1"),
    (devices.device("GPU-1", "n1", "A100"), "GPU-1 of n1 (A100)"),
    (devices.part(20_000, 30.0), "20000 MiB and 30%"),
    (devices.part(None, 30.0), "30%"),
    (
        devices.closest("GPU-1 of n1", "20%", [("ns/a.0", "80%")], 0),
        "GPU-1 of n1 comes closest: 20% left, the rest held by ns/a.0 (80%)",
    ),
    (
        devices.closest("GPU-1 of n1", "20%", [("ns/a.0", "50%"), ("ns/b.0", "30%")], 0),
        "GPU-1 of n1 comes closest: 20% left, the rest held by ns/a.0 (50%) and ns/b.0 (30%)",
    ),
    (
        devices.closest("GPU-1 of n1", "20%", [("ns/a.0", "50%"), ("ns/b.0", "10%")], 2),
        "GPU-1 of n1 comes closest: 20% left, the rest held by ns/a.0 (50%), ns/b.0 (10%) and 2 more",
    ),
]


@pytest.mark.parametrize(("said", "words"), SAID, ids=[words for _, words in SAID])
def test_words(said: str, words: str) -> None:
    assert said == words
