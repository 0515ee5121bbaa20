"""What ``vsched plan`` says."""

from __future__ import annotations

from vsched.cli.plan.buy import words as buy
from vsched.cli.plan.moving import words as moving
from vsched.cli.plan.several import words as several
from vsched.cli.plan.words import flags, objects, pages

SENTENCES = [
    # cli/plan/several/words
    (
        several.SUBMIT_ONLY,
        "several clusters are asked about --submit FILE alone (expected no other change, --buy or --consolidate)",
    ),
    (several.LIVE_AND_CLUSTERS, "--clusters and --live URL: one of them says which clusters are asked"),
    (
        several.TO_WITHOUT_CLUSTERS,
        "--to is for a question to several clusters (expected --clusters FILE, or --live URL --live URL)",
    ),
    (several.no_yaml("a.yaml", "a tab"), "a.yaml: a tab (expected YAML)"),
    (several.how_many_clusters("a.yaml", 0, 100), "a.yaml: clusters: 0 of them (expected 1 to 100)"),
    (several.named_twice("a.yaml", "east"), "a.yaml: 'east' is there twice (expected different clusters)"),
    (
        "; ".join((several.CLUSTER, several.STARTS, several.PLACED, several.DISPLACES, several.SAYS)),
        "cluster; starts; pods placed; evicts; says",
    ),
    ("; ".join((several.AT_ONCE, several.NOT_FORESEEN, several.NOT_ASKED)), "at once; not foreseen; not asked"),
    ("; ".join((several.FIRST, several.CHEAPEST)), "first; evicts least"),
    (several.asking("east"), "planning on east …"),
    (several.earliest("5m"), "in 5m"),
    (several.placed(2, 4), "2 of 4"),
    (several.displaced(2, "a/b, a/c"), "2 (a/b, a/c)"),
    (several.NOWHERE, "no cluster is known to start it"),
    (several.handed("east", "Job", "ns/a"), "east: Job ns/a created"),
    (
        several.no_such_cluster("north", "east, west"),
        "--to north: no such cluster (expected best, or one of east, west)",
    ),
    (
        several.nowhere_to_hand(several.NOWHERE),
        "--to best: no cluster is known to start it (expected --to NAME to hand it over all the same)",
    ),
    (
        several.no_api("east"),
        "--to: no API server of east is known (expected its kubeconfig or context in --clusters FILE)",
    ),
    (
        several.not_served("east", "JobSet", "jobset.x-k8s.io/v1"),
        "east: its API server serves no JobSet in jobset.x-k8s.io/v1",
    ),
    (
        several.half_handed("east", "refused", "Job ns/a"),
        "east: refused; created before that, and still there: Job ns/a",
    ),
    # cli/plan/moving/words
    (moving.NOT_WITH_BUY, "--consolidate, --buy: give one of them"),
    (moving.NOT_BY_ITSELF, "the policy would not make these moves by itself: it has no action consolidate"),
    (moving.EXTENDER_NOT_CALLED, "the extender is not called: it may refuse these nodes"),
    (
        moving.no_job("team/trian", "(did you mean 'team/train'?)"),
        "--consolidate: there is no job 'team/trian' (did you mean 'team/train'?)",
    ),
    (moving.would_start("team/train", 1), "team/train would start after 1 move"),
    (moving.without_moves("team/train", "it waits for nothing"), "team/train: it waits for nothing"),
    (moving.lost_work("2h"), "2h of work"),
    (moving.PAUSES_JOB, "its job pauses until the new pod runs"),
    (moving.asked_first("5m"), "is asked to end first, for 5m at most"),
    (moving.starts_on(2, "n1"), "2 pods on n1"),
    # cli/plan/buy/words
    (buy.gangs_lack(0), "no gang lacks its minimum"),
    (buy.gangs_lack(1), "1 gang lacks its minimum"),
    (buy.gangs_lack(3), "3 gangs lack their minimum"),
    (buy.EXTENDER_NOT_CALLED, "the extender is not called: it may refuse these nodes"),
    (buy.with_buy_only("--most, --pools"), "--most, --pools: has an effect with --buy only"),
    (buy.CLUSTER_WITHOUT_LIVE, "--kubeconfig, --context: for NodePools of a running cluster (expected --live)"),
    (
        buy.REQUIREMENTS_SAY_NOT,
        "its requirements do not say what its nodes have, and no node of these instance types exists",
    ),
    (buy.no_name("pools.yaml:document 1"), "pools.yaml:document 1: a NodePool without metadata.name"),
    (
        buy.other_version("pools.yaml:document 1", "h100", "karpenter.sh/v1beta1"),
        "pools.yaml:document 1: NodePool h100: apiVersion 'karpenter.sh/v1beta1' (expected karpenter.sh/v1)",
    ),
    (buy.nothing_in_it("pools.yaml"), "pools.yaml: nothing in it (expected a list of node pools, or NodePools)"),
    (buy.same_name("h100"), "--pools: two pools are called 'h100'"),
    (buy.NO_NODEPOOLS_SERVED, "the cluster serves no NodePools of Karpenter (karpenter.sh/v1)"),
    (buy.NO_NODEPOOLS, "the cluster has no NodePools of Karpenter"),
    (buy.more_gangs("2 gangs"), "\nand 2 gangs more (--most N for the menus of more)"),
    (buy.NOT_TRIED_YET, "it was not tried yet"),
    (buy.starts_with_message("1 more of pool h100"), "it would start with 1 more of pool h100"),
    (buy.STARTS_WITH, "it would start with "),
    (buy.more_options(3), "3 more (-o json has them all)"),
    (buy.more_pools("2 pools"), "2 pools more would not be enough (-o json has them all)"),
    (buy.there_in("30s"), "there in 30s"),
    # cli/plan/words/flags
    (flags.LIVE_OR_FILE, "give --live for a running cluster, or --from FILE, not both"),
    (flags.NO_FILE, "Missing option '-f' / '--filename', or --live for a running cluster."),
    (flags.for_running_clusters("--edit"), "--edit: for running clusters (expected --live, or --from DUMP, with it)"),
    (flags.not_with_live("-f, --now"), "-f, --now: not with --live (expected --submit FILE for new objects)"),
    (flags.calling_extender("http://10.0.0.1"), "vsched: calling the extender at http://10.0.0.1, as a session would"),
    (flags.no_such_nodes("a, b"), "vsched: --usage: no such node: a, b"),
    (flags.no_moment("soon"), "--now: 'soon' is not a time (expected RFC 3339, such as 2026-01-31T12:00:00Z)"),
    (
        flags.no_time_zone("2026-01-31T12:00:00"),
        "--now: '2026-01-31T12:00:00' has no time zone (expected RFC 3339, such as 2026-01-31T12:00:00Z)",
    ),
    (flags.one_like_for_each(2, 1), "--add-nodes and --like: 2 and 1 (expected one --like NODE for each)"),
    (flags.STDIN_ONCE, "--submit: standard input can be read once only"),
    (
        flags.EXPECTED_SETTING,
        "expected queue/NAME.FIELD=VALUE, podgroup/NAMESPACE/NAME.FIELD=VALUE or node/NAME.FIELD=VALUE",
    ),
    (flags.EXPECTED_WHOLE_NUMBER, "expected a whole number"),
    (flags.EXPECTED_TRUE_OR_FALSE, "expected true or false"),
    (
        flags.only_records("podgroup/team/train.minMember=4"),
        "podgroup/team/train.minMember=4: this PodGroup only records what its pods and their workload "
        "say (expected one that somebody has made)",
    ),
    (
        flags.cannot_be_set("pod/x.y=1", "pod", "(expected one of queue, podgroup, node)"),
        "pod/x.y=1: 'pod' cannot be set (expected one of queue, podgroup, node)",
    ),
    (
        flags.no_resource("gpu"),
        "'gpu' is no resource that pods are placed by (expected cpu, memory, example.com/gpu …)",
    ),
    (
        flags.no_field("Queue", "wieght", "(did you mean 'weight'?)"),
        "Queue has no field 'wieght' that can be set (did you mean 'weight'?)",
    ),
    (
        flags.no_object("--cordon n9", "Node", "n9", "(did you mean 'n1'?)"),
        "--cordon n9: there is no Node 'n9' (did you mean 'n1'?)",
    ),
    (flags.did_you_mean("n1"), "(did you mean 'n1'?)"),
    (flags.THERE_ARE_NONE, "(there are none)"),
    (flags.expected_one_of("a, b", " and 2 more"), "(expected one of a, b and 2 more)"),
    (flags.BY_NODE, "expected node: {cpu: {5m: 63.0}, memory: {5m: 40.1}}"),
    (
        flags.nested_too_deeply("usage.yaml"),
        "usage.yaml: nested too deeply (expected node: {cpu: {5m: 63.0}, memory: {5m: 40.1}})",
    ),
    (
        flags.unknown_resource("usage.yaml", "n1.gpu", "cpu or memory"),
        "usage.yaml: n1.gpu: unknown resource (expected cpu or memory)",
    ),
    (flags.BY_PERIOD, "expected figures by period, such as {5m: 63.0}"),
    (
        flags.no_period("usage.yaml", "n1.cpu", "5x"),
        "usage.yaml: n1.cpu: '5x' is no period (expected a number and s, m or h, such as 5m)",
    ),
    (
        flags.no_figures("usage.yaml", "n1.cpu.5m", "x"),
        "usage.yaml: n1.cpu.5m: expected percent, or {average: 63.0, spread: 12.5}, got 'x'",
    ),
    (
        flags.no_percent("usage.yaml", "n1.cpu.5m", 101),
        "usage.yaml: n1.cpu.5m: 101 (expected percent, a number from 0 to 100)",
    ),
    (
        flags.no_text("usage.yaml", "n1.", "5", "expected cpu"),
        "usage.yaml: n1.5: expected cpu; this name is not text, quote it",
    ),
    # cli/plan/words/objects
    (objects.cordoned("n1", "1 pod gone for good"), "n1 is cordoned: 1 pod gone for good"),
    (
        objects.drain_would_wait("team/pdb", "n1"),
        "team/pdb: allows fewer evictions than n1 has pods, so kubectl drain would wait",
    ),
    (objects.gone("n1", "it had no pods"), "n1 is gone: it had no pods"),
    (objects.without_daemons("2 pods"), ", but without 2 pods of DaemonSets that would come"),
    (
        objects.new_nodes("2 nodes", "n1", ", but without 1 pod of DaemonSets that would come"),
        "2 nodes like n1: same labels, taints and devices, open for pods, but without 1 pod of "
        "DaemonSets that would come",
    ),
    (objects.lists_others("n1", "n1-new-0", "rack-1"), "HyperNodes that list n1, but would not find n1-new-0: rack-1"),
    (objects.CREATED_AGAIN, "created again by controllers"),
    (objects.GONE_FOR_GOOD, "gone for good"),
    (objects.LEFT_THERE, "of DaemonSets or the node itself left there"),
    (objects.MOVED_ELSEWHERE, "of other schedulers moved elsewhere"),
    (objects.NO_PODS, "it had no pods"),
    (objects.extender_does_not_answer("it is gone"), "vsched: the extender does not answer: it is gone"),
    (
        objects.pods_left_out("2 pods", "default-scheduler", "team/a, team/b"),
        "2 pods of scheduler default-scheduler left out (team/a, team/b)",
    ),
    (
        objects.other_scheduler("2 pods of scheduler x left out (a, b)", "vsched or volcano"),
        "vsched: 2 pods of scheduler x left out (a, b): expected scheduler vsched or volcano; "
        "--scheduler-name says otherwise",
    ),
    (
        objects.hypernodes_left_out("2 HyperNodes", "a, b", "no member is a node"),
        "vsched: 2 HyperNodes left out (a, b): no member is a node",
    ),
    (objects.too_many_pods("ReplicaSet web", 200000, 100000), "ReplicaSet web: 200000 pods (expected 100000 at most)"),
    (objects.no_namespace("team"), "namespace team does not exist yet: create it first"),
    (objects.nothing_in_it("jobs.yaml"), "jobs.yaml: nothing in it (expected Kubernetes objects)"),
    (
        objects.no_name("jobs.yaml:document 1", "Job"),
        "jobs.yaml:document 1: Job: metadata.name: missing (expected text)",
    ),
    (
        objects.no_text("jobs.yaml:document 1", "Job", "metadata.namespace", 3),
        "jobs.yaml:document 1: Job: metadata.namespace: 3 (expected text)",
    ),
    (objects.not_served("Jobb", "batch/v1"), 'no kind "Jobb" is served in version "batch/v1"'),
    (objects.no_pods_here("jobs.yaml:document 1", "Service"), "jobs.yaml:document 1: Service: it gets no pods here"),
    (objects.stays("Queue", "research"), "Queue research exists already and stays as it is"),
    (objects.pod_exists("train-0"), 'pods "train-0" already exists'),
    (objects.object_exists("jobs", "batch", "train"), 'jobs.batch "train" already exists'),
    (objects.spec_replaced("Queue", "research"), "Queue research exists already: its spec would be replaced"),
    (
        objects.seem_to_exist("jobs.yaml:document 1", "2 pods", "Job", "train"),
        "jobs.yaml:document 1: 2 pods of Job train seem to exist already: these are added",
    ),
    (
        objects.left_to("jobs.yaml:document 1", "2 pods", "default-scheduler"),
        "jobs.yaml:document 1: 2 pods left to scheduler default-scheduler (--scheduler-name NAME plans them)",
    ),
    (
        objects.statefulset_starts("jobs.yaml:document 1", "web"),
        "jobs.yaml:document 1: StatefulSet web starts its pods one after another; all are planned",
    ),
    (
        objects.no_more_pods("jobs.yaml:document 1", "Job", "train", 3, "the quota is full"),
        "jobs.yaml:document 1: Job train: no more than 3 of its pods: the quota is full",
    ),
    (
        objects.belongs_to_existing("jobs.yaml:document 1", "Pod", "train-0", "Workload team/train"),
        "jobs.yaml:document 1: Pod train-0: it would belong to Workload team/train, which exists "
        "already (expected all groups and pods of a tree together)",
    ),
    (
        objects.no_storage_class("jobs.yaml:document 1", "data"),
        "jobs.yaml:document 1: PersistentVolumeClaim data names no storage class, and the cluster's "
        "default is not known here",
    ),
    (
        objects.no_template("jobs.yaml:document 1", "gpus"),
        "jobs.yaml:document 1: ResourceClaimTemplate gpus is not submitted with it: its claims are not created",
    ),
    (objects.FROM_A_CLUSTER, "it comes from a cluster, but none of its pods is among the manifests"),
    (objects.NO_PODS_HERE, "it gets no pods here"),
    (objects.no_more("3 pods", "the quota is full"), "no more than 3 pods of it: the quota is full"),
    (
        objects.tasks_without_pods("2 tasks", "worker, server"),
        "2 tasks without pods yet, as others come first: worker, server",
    ),
    (objects.not_applied("spec.affinity"), "spec.affinity: it is not applied to its pods here"),
    (objects.KIND_UNKNOWN, "its kind is not in the table of workload kinds: it gets no pods"),
    (objects.SUSPENDED, "it is suspended or has no replicas: it gets no pods"),
    (objects.NUMBER_OF_COPIES, "number of copies"),
    (objects.SEPARATE_GANGS, "its roles are separate gangs that may start one after another; all are planned"),
    (
        objects.cannot_be_planned("2 pods", "worker", "spec.template"),
        "2 pods of worker cannot be planned for: there is no pod template at spec.template",
    ),
    (
        objects.not_among_manifests("PodTemplate", "big", "pods"),
        "its PodTemplate big is not among the manifests: it gets no pods",
    ),
    (objects.missing("spec.template", "pods"), "spec.template: missing: it gets no pods"),
    (objects.NUMBER_OF_PODS, "number of pods"),
    (objects.no_factor("x"), "'x' as the factor of the memory overhead (expected a number)"),
    (
        objects.no_jvm_memory("spec.driver.memory", "lots"),
        "spec.driver.memory: 'lots' (expected the memory of a JVM, as 512m or 4g)",
    ),
    # cli/plan/words/pages
    (pages.SHARE_OF_DESERVED, "share: dominant share of what the queue deserves"),
    (pages.SHARE_OF_CLUSTER, "share: dominant share of the cluster"),
    (pages.decides_nothing(2, 3), "Cycle 2 of 3 decides nothing."),
    (pages.decisions(2, 3), "Decisions of cycle 2 of 3"),
    (pages.OWN_VOLUMES, "with volumes and devices of their own"),
    (pages.moves_to("consolidate", "n2"), "consolidate to n2"),
    (pages.asked_to_end_within("10m"), "asked to end within 10m: "),
    (pages.ASKED_TO_END, "asked to end: "),
    (pages.new_volume("data"), "a new volume for data"),
    (pages.RESERVED, "reserved while other pods leave"),
    (pages.NOT_RESERVED, "no node is reserved for it any more"),
    (pages.JOB_OR_POD, "job or pod"),
    (pages.more_end("team/train", 3), "team/train and 3 more end"),
    (pages.time_passes(2, "1h", "team/train ends"), "before cycle 2, 1h pass: team/train ends as asked"),
    (pages.DIVISION_STAYS, "the division among namespaces (arbitration) stays as it was"),
    (
        pages.session_ended_in_error(7, "KeyError"),
        "session 7 ended in an error, and does so again: KeyError (expected a session that decided; "
        "vsched replay shows the error)",
    ),
    (pages.extender_does_not_answer("connection refused"), "the extender does not answer: connection refused"),
    (pages.RECORDED_POLICY, "the recorded policy"),
    (pages.no_violations("12 checks"), "vsched: 12 checks, no violations"),
    (pages.TIMES_ITS_SHARE, "times its share used"),
    (pages.STOP_OR_WAIT, "stop or wait"),
    (pages.IN_ANOTHER_PHASE, "in another phase"),
    (pages.more_notes(3), "  and 3 more notes (-o json has them all)"),
    (pages.NOTHING_DIFFERENT, "\nNothing is different from today."),
    (pages.WHY_NOT_ALL, "why not all"),
    (pages.no_longer_by("preempt"), "no longer by preempt"),
    (pages.more_rows(1200), "and 1,200 more (-o json has them all)"),
    (pages.no_longer("n1"), "no longer n1"),
    (pages.no_problem_any_more("research"), " queue research: has no problem any more"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
