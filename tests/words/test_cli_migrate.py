"""What ``vsched migrate`` says."""

from __future__ import annotations

from vsched.cli.migrate import words as migrate
from vsched.cli.migrate.check.words import differences, verdicts
from vsched.cli.migrate.queues import words as migrated

SENTENCES = [
    # cli/migrate/words
    (migrate.FILES_AND_CLUSTER, "files and a cluster (--kubeconfig, --context) are both named: expected one of them"),
    # cli/migrate/check/words/verdicts
    (verdicts.OWN_PARTS, "Volcano's own parts"),
    (verdicts.SCHEDULER_REPLACED, "vsched takes its place"),
    (
        verdicts.CONTROLLERS_MAY_STAY,
        "may stay: they go on with queues, PodGroups and vcjobs, and vsched's controllers are off",
    ),
    (verdicts.ONE_REPLICA, "one replica places all pods, the others wait"),
    (verdicts.none_in_namespace("volcano-system"), "there is none in namespace volcano-system (-n says where it is)"),
    (verdicts.NO_CONTROLLERS, "none run: vsched's own look after queues, PodGroups and vcjobs"),
    (verdicts.reviews("create jobs"), "reviews create jobs; lets them pass while nobody answers"),
    (
        verdicts.reviews_and_blocks("create jobs"),
        "reviews create jobs; delete the configuration before you scale the webhooks down: nobody could "
        "create jobs then",
    ),
    (
        verdicts.refused("create jobs"),
        "nobody answers, so the API server refuses to create jobs: start the webhooks, or delete the configuration",
    ),
    (verdicts.FLAGS, "flags of the scheduler"),
    (verdicts.GATES_CONTROLLER, "the controller of gates (controllers.gates)"),
    (verdicts.BUDGETS_COUNT, "disruption budgets always count"),
    (verdicts.NUMA_AWARE_DECIDES, "the plugin numa-aware decides"),
    (verdicts.LEADER_ELECTION, "leaderElection of the chart"),
    (verdicts.NO_SUCH_FLAG, "vsched has no such flag (vsched run --help)"),
    (
        verdicts.cannot_be_switched_off("CSIStorage", "storage capacities always count"),
        "CSIStorage cannot be switched off here: storage capacities always count",
    ),
    (verdicts.no_gate("NewThing"), "vsched has no gate NewThing"),
    (verdicts.NO_PPROF, "there is no pprof"),
    (verdicts.ALL_PROVISIONERS, "volumes of every provisioner count"),
    (verdicts.ALL_NODES_USED, "vsched places pods on all nodes: keep them off others by taints or node selectors"),
    (verdicts.NO_GO_PLUGINS, "plugins in Go cannot be loaded; those of vsched are Python packages"),
    (verdicts.PRIORITIES_COUNT, "priorities always count"),
    (verdicts.OWN_CONNECTION, "vsched has a connection and certificates of its own (tls of the chart)"),
    (verdicts.LOG_LEVEL, "logLevel of the chart"),
    (verdicts.ALL_NODES_LOOKED_AT, "vsched looks at all nodes"),
    (verdicts.NOTHING_TO_SET, "nothing has to be set"),
    (verdicts.SCHEDULER_NAMES, "schedulerNames of the chart"),
    (verdicts.POLICY_BELOW, "the policy: below"),
    (verdicts.SESSIONS_ON_CHANGE, "sessions start on change, and at least this often: extraArgs=[--schedule-period=…]"),
    (verdicts.DEFAULT_QUEUE, "defaultQueue of the chart"),
    (verdicts.SERVICE_PORT, "service.port of the chart"),
    (verdicts.HEALTH_PORT, "healthPort of the chart"),
    (verdicts.API_QPS, "api.qps of the chart"),
    (verdicts.API_BURST, "api.burst of the chart"),
    (verdicts.CAPACITIES_COUNT, "storage capacities always count"),
    (verdicts.DUMP_INSTEAD, "vsched dump instead of a signal"),
    (verdicts.SHARD_MODE, "nodeShard.mode of the chart"),
    (verdicts.SHARD_NAME, "nodeShard.name of the chart"),
    (verdicts.KEYS, "annotations and labels"),
    (verdicts.NO_OTHER_CLUSTERS, "has no effect: there are no other clusters"),
    (verdicts.FOR_THE_AGENT, "for Volcano's agent on nodes; no scheduler reads it"),
    (verdicts.FOR_DEVICESHARE, "read and written where the policy has the plugin deviceshare"),
    (verdicts.NOT_READ, "vsched does not read it"),
    (verdicts.POD_WAITS, "what is not supported makes the pod wait"),
    (verdicts.VOLCANO_CRON_JOBS, "cronjobs of batch.volcano.sh"),
    (verdicts.WHERE_SHARDS_COUNT, "where nodeShard.mode of the chart is soft or hard"),
    (verdicts.NO_PARENT, "its parent is not there"),
    (verdicts.KEEP_CONTROLLERS, "Volcano's controllers go on with them: keep their Deployment"),
    (verdicts.NO_CONTROLLER, "vsched has no controller for them, and Volcano's do not run"),
    (verdicts.TAKEN_OVER, "taken over once Volcano's scheduler is gone"),
    (verdicts.LEFT_TO_OTHERS, "left to others"),
    (verdicts.OF_WHAT_IS_MISSING, "belongs to what is missing"),
    (
        verdicts.no_config_map("volcano-system"),
        "no ConfigMap of namespace volcano-system has it: vsched check FILE checks a file",
    ),
    (verdicts.BUILT_IN_POLICY, "the scheduler names none: Volcano's built-in one holds, and vsched has its own"),
    (
        verdicts.INSTALL_BESIDE,
        "install vsched beside Volcano, under a name of its own; try it on one job with spec.schedulerName: vsched",
    ),
    (verdicts.SCALE_DOWN, "scale Volcano's scheduler down: two schedulers must never place the same pods"),
    (verdicts.PLACE_PODS, "have vsched place its pods"),
    (verdicts.SAVE_POLICY, "save the policy, and change in it what is missing above"),
    (verdicts.check_file("volcano-scheduler.conf"), "vsched check volcano-scheduler.conf"),
    (verdicts.LEAVE_PODS, "vsched leaves the pods to Volcano again"),
    (verdicts.TAKE_AWAY, "take vsched away, once no job names it"),
    (verdicts.TO_CHANGE_BACK, "To change back"),
    # cli/migrate/check/words/differences
    (differences.VICTIMS_AND_TIERS, "victims and tiers"),
    (differences.NO_PRIORITY_CLASS, "a PodGroup's PriorityClass that does not exist"),
    (differences.HARD_WITHOUT_TIER, "networkTopology: hard without a tier, or with a tier name that there is not"),
    (differences.SUBGROUPS_WITHOUT_KEYS, "subGroupPolicy with a selector and no keys"),
    # cli/migrate/queues/words
    (
        migrated.expected_queues("kueue.x-k8s.io", "scheduling.run.ai"),
        "expected ClusterQueues of kueue.x-k8s.io, or Queues of scheduling.run.ai",
    ),
    (migrated.HEADER, "Volcano Queues, made by vsched migrate queues. Read the comments, then: kubectl apply -f FILE"),
    (
        migrated.WHAT_COUNTS,
        "deserved and the tree count with the plugin capacity (enableHierarchy: true), weight with proportion.",
    ),
    (migrated.nothing_to_convert("expected ClusterQueues"), "there are no queues to convert (expected ClusterQueues)"),
    (migrated.ignored(2, "Service"), "2 of Service: ignored: neither of Kueue nor of KAI"),
    (migrated.name_taken("research"), "the name is changed: a queue of Kueue is called research, too"),
    (migrated.default_queue("team"), "The default queue of namespace team"),
    (migrated.no_name("queues.yaml:document 1"), "queues.yaml:document 1: name is missing"),
    (migrated.above_itself("Cohort a", "a -> b -> a"), "Cohort a: it is above itself: a -> b -> a"),
    (
        migrated.capability_above("cpu", "8", "4"),
        "capability cpu 8 is more than that of the queues above, 4: Volcano's webhook refuses it, "
        "vsched cuts it to that",
    ),
    (
        migrated.deserved_above("cpu", "8", "4"),
        "deserved cpu 8 is more than capability 4: Volcano's webhook refuses it, vsched cuts it to the capability",
    ),
    (
        migrated.deserved_together("8", "cpu", "4"),
        "the queues below deserve 8 cpu together, this one 4: Volcano's webhook refuses it, vsched cuts theirs",
    ),
    (migrated.WEIGHT_OF_ZERO, "a weight of 0 cannot be carried over: a queue has at least 1"),
    (migrated.weight_rounded(10000), "the weight is rounded: a queue has at most 10000"),
    (migrated.NO_COUNTERPART, "there is no counterpart"),
    (
        migrated.not_carried_over("spec.preemption", "jobs are ordered by the policy"),
        "not carried over: spec.preemption: jobs are ordered by the policy",
    ),
    (
        migrated.of_source("ResourceFlavor a100", "spec.nodeTaints", "taints of nodes count as Kubernetes means them"),
        "ResourceFlavor a100: not carried over: spec.nodeTaints: taints of nodes count as Kubernetes means them",
    ),
    (
        migrated.object_not_carried_over("Topology", "rack", "kueue.x-k8s.io"),
        "Topology rack (kueue.x-k8s.io): not carried over: there is no counterpart",
    ),
    (migrated.no_queues_served("https://10.0.0.1"), "https://10.0.0.1 serves no queues of Kueue and none of KAI"),
    (
        migrated.PODS_NAME_QUEUES,
        "pods name their queue by the annotation scheduling.volcano.sh/queue-name, not by the label "
        "kai.scheduler/queue",
    ),
    (migrated.whole_cluster("root-2"), "the name is changed: root-2 is the whole cluster"),
    (migrated.no_parent("dept"), "not carried over: spec.parentQueue: Queue dept is not among what was read"),
    (
        migrated.no_duration("Queue a", "preemptMinRuntime", "x"),
        "Queue a: spec.preemptMinRuntime: 'x' is not a duration (expected one such as 90s or 1h)",
    ),
    (
        migrated.deserves_none("spec.resources.gpu", "nvidia.com/gpu"),
        "not carried over: spec.resources.gpu.quota: -1 (all there is): the queue deserves no nvidia.com/gpu",
    ),
    (
        migrated.holds_none("spec.resources.gpu", "nvidia.com/gpu"),
        "spec.resources.gpu.limit: not given, which KAI takes as 0: the queue may hold no nvidia.com/gpu",
    ),
    (
        migrated.one_weight("cpu", 2.0, "gpu"),
        "not carried over: spec.resources.cpu.overQuotaWeight: 2: a queue has one weight, and it is that of gpu",
    ),
    (
        migrated.negative("spec.resources.gpu.quota", -2.0),
        "spec.resources.gpu.quota: -2 is negative (expected zero or more, or -1)",
    ),
    (migrated.no_priority("Queue a", "high"), "Queue a: spec.priority: expected a whole number, got 'high'"),
    (migrated.negative_priority(-5), "not carried over: spec.priority: -5: a queue has at least 0"),
    (
        migrated.POLICY_EVICTS,
        "which jobs are evicted for others is a matter of the policy (actions preempt and reclaim)",
    ),
    (migrated.ALL_NAMESPACES, "a queue takes jobs of all namespaces; admission webhooks or RBAC can keep others out"),
    (migrated.NO_FLAVORS, "there are no flavors to choose from; scores of nodes choose among them"),
    (migrated.NOTHING_OUTSIDE, "nothing outside of vsched is asked before a job is admitted"),
    (migrated.POLICY_ORDERS, "jobs are ordered by the policy"),
    (
        migrated.OWN_SELECTORS,
        "pods are sent to nodes by their own node selectors, or by groups of nodes (plugin nodegroup)",
    ),
    (migrated.TAINTS_COUNT, "taints of nodes count as Kubernetes means them"),
    (migrated.OWN_TOLERATIONS, "pods get no tolerations from their queue: they need their own"),
    (migrated.CLOSENESS, "closeness is asked for by networkTopology of the job"),
    (migrated.cohort_named("pool"), "cohort pool, which others name"),
    (migrated.another_queue("research"), "the name is changed: there is another queue research"),
    (migrated.NO_NAMESPACES, "not carried over: spec.namespaceSelector: none, so that Kueue takes no job at all"),
    (migrated.NO_BORROWING, "not carried over: borrowingLimit: there is nobody above to borrow from"),
    (migrated.borrowing_cut("cpu", "pool"), "borrowingLimit of cpu: all that pool may hold, which is less"),
    (migrated.NO_LENDING, "not carried over: lendingLimit: there is nobody above to lend to"),
    (
        migrated.sum_of_flavors("cpu", "a100, h100"),
        "not carried over: quotas of flavors: cpu is the sum of a100, h100; the plugin nodegroup limits "
        "amounts by groups of nodes",
    ),
    (
        migrated.no_borrowing_limit("cpu"),
        "not carried over: borrowingLimit of cpu: another flavor has none, so the sum has none",
    ),
    (
        migrated.STRICT_FIFO,
        "not carried over: spec.queueingStrategy: StrictFIFO: jobs that fit go before older ones that "
        "do not; the plugin easy-backfill keeps room for the first",
    ),
    (
        migrated.stopped("HoldAndDrain"),
        "not carried over: spec.stopPolicy: HoldAndDrain: the queue is closed, but what runs goes on",
    ),
    (
        migrated.no_cluster_queue("LocalQueue team/q", "research"),
        "LocalQueue team/q: not carried over: ClusterQueue research is not there",
    ),
    (
        migrated.name_the_queue("LocalQueue team/q", "kueue.x-k8s.io", "q", "research"),
        "LocalQueue team/q: jobs that name it (label kueue.x-k8s.io/queue-name: q) have to name the "
        "queue research (annotation scheduling.volcano.sh/queue-name)",
    ),
    (
        migrated.no_default(3),
        "there are 3 LocalQueues, and none is called default: jobs that name no queue get the default one of vsched",
    ),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
