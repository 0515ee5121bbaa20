"""What replays of traces, of filling clusters and of Kueue's generator say."""

from __future__ import annotations

from datetime import datetime

from vsched.lab.fill import words as fill
from vsched.lab.kueue import words as kueue
from vsched.lab.replay import words as replay
from vsched.lab.trace import words as trace

SENTENCES = [
    # lab/trace/words, of work traces
    (trace.no_work("work"), "work: no pods were recorded (expected a trace with work)"),
    (trace.still_ran(1), "1 pod had not ended when the trace did: each ends as it does"),
    (trace.still_ran(1200), "1,200 pods had not ended when the trace did: each ends as it does"),
    (
        trace.never_ran(2),
        "2 pods never ran: each takes as long as it says, else as pods of its queue usually do",
    ),
    (trace.replaced(2), "2 pods deleted while running came again: their work counts once"),
    (
        trace.ruled(2),
        "2 pods with rules that are not recorded (affinity, other labels, volumes, devices): these rules are left out",
    ),
    (trace.partly(1), "1 job with more pods than the minimum: the others are pods of their own"),
    (trace.partly(2), "2 jobs with more pods than the minimum: the others are pods of their own"),
    (trace.nodes_for_a_part(1), "1 node there for less than half of the time: left out"),
    (trace.nodes_for_a_part(2), "2 nodes there for less than half of the time: left out"),
    (trace.resources_left_out("a, b"), "resources that a replay does not know: a, b"),
    (trace.not_seen_for("10m"), "nothing is known of 10m of the time"),
    (trace.AS_RECORDED, "as recorded"),
    (trace.MATCH, "jobs that wait as recorded"),
    (trace.OFF_P50, "difference to recorded wait, p50"),
    (trace.OFF_P90, "difference to recorded wait, p90"),
    (
        trace.no_machines_with_work("work"),
        "--machines: work says which nodes there were (expected a file of nodes before it, or no --machines)",
    ),
    (trace.no_nodes("work"), "work: no node was there for most of the time (expected a longer part of the trace)"),
    # lab/fill/words
    (fill.NO_NODE_HAS_GPU, "--fill: no node has a GPU (expected nodes with GPUs)"),
    (fill.NO_POD_ASKS, "--fill: no pod asks for a GPU (expected pods that do)"),
    (fill.asks_for_less(3, 0.5), "--fill: 3 pods ask for 50% of that (expected fewer nodes)"),
    (fill.ONE_FILE, "--fill: the trace is one file (expected NODES and PODS in OpenB's format)"),
    (
        fill.progress("default", 7, 99.6, 91.25, 3, 1200, 12.4, 5800.2),
        "default, seed 7: 100% arrived, 91.25% allocated; 3 of 1,200 pods dropped; 12 s (5,800 pods a minute)",
    ),
    (fill.DROPPED_WITH_ROOM, "dropped with room"),
    (fill.POLICY_EVICTS, "--fill: the policy evicts pods, and here none ends (expected one without victims)"),
    (fill.does_not_fit("team/train-0", "node-1"), "the scheduler placed team/train-0 on node-1, where it does not fit"),
    (fill.LEGEND, "Per cent of all GPUs: the mean over the seeds ± their standard deviation."),
    (
        fill.title("pods.csv", "100 pods", "4 nodes", "8 GPUs", 1.3, "1, 2"),
        "pods.csv: a list of 100 pods on 4 nodes with 8 GPUs; pods ask for 130% of these; seeds 1, 2",
    ),
    (fill.allocated_at(0.5), "allocated at 50%"),
    (fill.stranded_at(3), "stranded at 3%"),
    (fill.WITH_ROOM, "of these with room"),
    (fill.OF_ALL_GPUS, "% of all GPUs"),
    (fill.NOT_ALLOCATED, "GPUs asked for and not allocated, of those there are"),
    (fill.ASKED_FOR, "asked for by the pods that came, % of all GPUs"),
    # lab/kueue/words
    (
        kueue.TIME_IS_VIRTUAL,
        "Time is virtual: a decision, a binding and an eviction take none. Kueue runs beside a real API "
        "server (envtest), so its figures, and the gates made of them, hold the latency of its requests.",
    ),
    (
        kueue.CORE_ALONE,
        "Only the deciding core is measured, on its mirror of the cluster. Nothing is written over HTTP.",
    ),
    (
        kueue.LOOKS_AT_ALL,
        "Kueue looks at the first workload of each queue in a cycle; here a cycle looks at all that wait.",
    ),
    (
        kueue.EVICTED_WAIT_AGAIN,
        "An evicted workload waits again at once and in its old place, and begins anew. The time to "
        "admission is to the last admission, as in Kueue's test.",
    ),
    (
        kueue.NO_NODES,
        "The generator has no nodes: one node as large as all quotas is used, so that only quotas decide.",
    ),
    (kueue.ONE_POLICY, "--policy: one at a time with --kueue"),
    (
        kueue.title(1500, 30, 5, " on 4 nodes", "default", 0.5),
        "1,500 workloads in 30 queues of 5 cohorts on 4 nodes, policy default, cycles 0.5 s apart while workloads wait",
    ),
    (kueue.never_ended(3), "3 never ended. "),
    (
        kueue.totals("3 never ended. ", 1200, 40, 15, 230),
        "3 never ended. 1,200 cycles, 40 evictions; 15 s of processor time, 230 MB",
    ),
    (kueue.GATE_OF_KUEUE, "gate of Kueue"),
    (kueue.WALL_TIME, "wall time, virtual"),
    (kueue.USAGE_OF_QUOTA, "usage of nominal quota, {}"),
    (kueue.MEAN_TIME, "mean time to admission, {}"),
    (
        kueue.progress(2.5, 900, 1500, 40, 860, 1200, 12.4),
        "2.5 s in, 900 of 1,500 workloads came, 40 run, 860 ended; 1,200 cycles in 12 s",
    ),
    (kueue.expected_text("a list"), "expected text, got a list"),
    (kueue.not_supported_here("x", "Never, Any"), "'x' is not supported here (expected one of Never, Any)"),
    (kueue.expected_whole(1, 10, "a list"), "expected a whole number from 1 to 10, got a list"),
    (kueue.negative("-1"), "'-1' is negative (expected 0 or more)"),
    (kueue.expected_list("a text"), "expected a list with at least one entry, got a text"),
    (
        kueue.not_supported("devices of dynamic resource allocation are not made here"),
        "not supported: devices of dynamic resource allocation are not made here",
    ),
    (kueue.unknown_field("a, b", ""), "unknown field (expected one of a, b)"),
    (
        kueue.cannot_be_read("generator.yaml", "Permission denied", "generator of Kueue"),
        "generator.yaml: cannot be read: Permission denied (expected a generator of Kueue)",
    ),
    (
        kueue.too_large("generator.yaml", "generator of Kueue", 1024),
        "generator.yaml: too large for a generator of Kueue: more than 1024 KiB",
    ),
    (kueue.CMD_AND_CLASSES, "cmd and classes"),
    (kueue.RANGE_FILE, "range file of Kueue"),
    (
        kueue.limit_of_process("maxWallMs"),
        "cmd.maxWallMs: a limit of the process of Kueue in real time, so it is not compared",
    ),
    (kueue.no_such_class("a, b"), "the generator has no such class (expected one of a, b)"),
    (kueue.NO_CLAIMS, "devices of dynamic resource allocation are not made here"),
    (kueue.GENERATOR, "generator of Kueue"),
    (kueue.twice("train"), "'train' is there twice (expected a name for each set of cohorts)"),
    (kueue.too_many_nodes(3, 4), "3 nodes (expected at most 4)"),
    (kueue.RECLAIM_DIFFERS, "reclaimWithinCohort differs within a cohort (expected the same for all of its queues)"),
    (kueue.WITHOUT_LEVEL, "has no effect without tasLevel, which is missing"),
    (kueue.NO_TOPOLOGY, "there is no topology in this file"),
    (kueue.no_level("rack", "a, b"), "'rack' is no level of the topology (expected one of a, b)"),
    (kueue.HOW_MANY_TOGETHER, "expected how many pods of a balanced workload have to be together"),
    (kueue.no_divisor(3), "expected a divisor of podCount, which is 3"),
    (kueue.NOT_BALANCED, "has no effect unless tasConstraint is balanced"),
    (kueue.other_topology("default", "other"), "expected the name of the topology, 'default', got 'other'"),
    (
        kueue.other_label("cloud.com/group", "other"),
        "expected 'cloud.com/group', the label that all nodes have, got 'other'",
    ),
    (kueue.NOT_USED, "no resource flavor uses it (expected resourceFlavor.topologyName)"),
    (kueue.NO_CAPACITY, "only nodes, the last level, have a capacity"),
    (kueue.TWO_LEVELS, "expected two levels at least"),
    (kueue.same_levels("name"), "two levels have the same name"),
    (kueue.comes_to_no_rest(3), "3 cycles at one moment, and each evicts again: this policy comes to no rest"),
    # lab/replay/words
    (
        replay.TRACE_WITH_FILES,
        "--trace: replays one or two CSV files (expected no FILE and no --config; --policy names one)",
    ),
    (replay.not_with_trace("--profile"), "--profile: not with --trace"),
    (replay.only_with_trace("--seeds"), "--seeds: only with --trace"),
    (replay.only_with_fill("--seeds"), "--seeds: only with --fill"),
    (replay.not_with_fill("--skip"), "--skip: not with --fill"),
    (replay.file_with_kueue("a.json.gz"), "a.json.gz: not with --kueue (expected no FILE)"),
    (replay.not_with_kueue("--fill"), "--fill: not with --kueue"),
    (replay.no_share("x"), "'x' (expected more than 0% and at most 100%, such as 60%)"),
    (replay.no_weight("x", 100), "'x' (expected QUEUE=WEIGHT with a weight from 1 to 100, such as ls=3)"),
    (replay.no_machines("x", 1000, 16), "'x' (expected COUNTxGPUS, 88x8 for 88 machines with 8 GPUs; at most 1000x16)"),
    (
        replay.no_moment("x"),
        "'x' (expected a date such as 2017-10-16 or 2017-10-16T12:00, or days since the first pod, such as 3)",
    ),
    (replay.no_seeds("x", 100), "'x' (expected numbers and ranges, each once, at most 100, such as 42-51 or 1,5,7)"),
    # lab/trace/words
    (trace.no_policy("train", "a, b"), "--one-queue: 'train' is no policy (expected one of a, b)"),
    (trace.no_such_queue("research", "a, b"), "--weight: no pod is in queue 'research' (expected one of a, b)"),
    (trace.same_name("train"), "--policy: two files are called 'train' (expected different names)"),
    (
        trace.progress("default", "3d", 900, 1500, 40, 5, 1200, 12.4, 96.8),
        "default: 3d in, 900 of 1,500 pods came, 40 run, 5 wait; 1,200 sessions in 12 s (97 a second)",
    ),
    (trace.no_share(0.5), "--nodes: 50% (expected more than 0% and at most 100%)"),
    (trace.no_pod_in_time("0 to 3 days"), "--from, --days: no pod comes in that time (expected a part of 0 to 3 days)"),
    (
        trace.no_dates(datetime(2026, 3, 2)),
        "--from: 2026-03-02: this trace has no dates (expected days since its first pod, such as 3)",
    ),
    (
        trace.load_too_large(3, 2.256, "gpu"),
        "--load: 3 is more than these pods ask for: all at once they would take 2.26 times the gpu there "
        "is (expected a smaller load, or fewer --nodes)",
    ),
    (
        trace.load_too_small(0.5, 0.75, "gpu"),
        "--load: 0.5 is less than these pods ask for however slowly they come: 0.75 times the gpu there is "
        "(expected a larger load, or more --nodes)",
    ),
    (
        trace.no_known_format("jobs.csv", "cpu_milli, or vc"),
        "jobs.csv:1: of no known format (expected a column cpu_milli, or vc; or --trace-format)",
    ),
    (
        trace.different_formats("jobs.csv", "cpu_milli and vc"),
        "jobs.csv:1: columns cpu_milli and vc are of different formats (expected --trace-format with it)",
    ),
    (
        trace.not_with_nodes("nodes.csv"),
        "--machines: nodes.csv says which there are (expected it with a trace in one file)",
    ),
    (
        trace.no_times("jobs.csv", "creation_time"),
        "jobs.csv:1: no column creation_time (expected both: a replay follows them)",
    ),
    (
        trace.no_models("trace.csv", "team/train-0", "V100"),
        "trace.csv: team/train-0 asks for GPUs of model V100, and there are no nodes that say theirs "
        "(expected a CSV file of nodes before it)",
    ),
    (trace.no_node_has("V100", "a, b"), "gpu_spec: no node has 'V100' (expected models of nodes: a, b)"),
    (trace.scheduled_before(3, 5), "scheduled_time: 3 is before creation_time 5"),
    (trace.deleted_before(3, 5), "deletion_time: 3 is before the pod was there, at 5"),
    (trace.no_gpus("trace.csv"), "trace.csv: its jobs ask for GPUs, and no node has one (expected nodes with GPUs)"),
    (
        trace.mixed_arrivals("jobs.csv", 7, "seconds", 2, "a date"),
        "jobs.csv:7: arrival: seconds, but line 2 has a date (expected the same in all lines)",
    ),
    (
        trace.same_names("trace.csv", "train"),
        "trace.csv: two lines lead to the name 'train' (expected names that differ without numbers)",
    ),
    (trace.not_all_together(2, 8), "min_pods: 2 of 8 (expected 1, each pod by itself, or 8, all together)"),
    (
        trace.value_without_gpus("gpu_model", "V100"),
        "gpu_model: 'V100' of no GPU (expected gpus to be 1 or more, or nothing here)",
    ),
    (
        trace.no_arrival("soon"),
        "arrival: 'soon' (expected whole seconds since the beginning, or a date and time such as 2026-03-02T09:30:00)",
    ),
    (trace.model_without_gpus("V100"), "gpu_model: 'V100' of no GPU (expected gpus to be 1 or more, or nothing here)"),
    (trace.no_name("gpus", "x y", 3), "gpus: 'x y' (expected lower-case letters, digits, '-' and '.', at most 3)"),
    (trace.no_label("gpus", "x y"), "gpus: 'x y' (expected letters, digits, '-', '_' and '.', at most 63)"),
    (
        trace.no_part("gpus", "x y", "a queue's name"),
        "gpus: 'x y' (expected a queue's name: lower-case letters, digits and '-')",
    ),
    (trace.ZERO_OR_MORE, "0 or more"),
    (trace.MORE_THAN_ZERO, "more than 0"),
    (
        trace.no_quantity("cpu", "x", "more than 0"),
        "cpu: 'x' (expected a quantity, more than 0, such as 500m, 2, 1.5Gi)",
    ),
    (trace.no_unit("memory", "16"), "memory: '16' is less than 1Mi (expected a unit behind it, such as 16Gi)"),
    (trace.no_fraction("gpu_part", "2"), "gpu_part: '2' (expected more than 0 and at most 1, such as 0.25)"),
    (trace.no_moment("submitted", "soon"), "submitted: 'soon' (expected a date and time, 2017-10-09 07:01:55)"),
    (trace.no_service("qos", "x y"), "qos: 'x y' (expected a word for a queue's name, such as LS or best-effort)"),
    (trace.no_number("gpus", "x y", 3, 4), "gpus: 'x y' (expected a whole number from 3 to 4)"),
    (trace.MORE_FIELDS, "more fields than the first line names"),
    (trace.twice("train", 3), "'train' was in line 3 already"),
    (trace.no_lines("trace.csv"), "trace.csv: no line after the first (expected one for each)"),
    (trace.no_columns("jobs.csv", "gpus", "name,gpus"), "jobs.csv:1: no column gpus (expected at least name,gpus)"),
    (trace.too_many_lines("trace.csv", 3, 4), "trace.csv:3: more than 4 lines"),
    (trace.larger("trace.csv", 3), "trace.csv: larger than 3 MiB"),
    (trace.cannot_be_read("trace.csv", "Permission denied"), "trace.csv: cannot be read: Permission denied"),
    (trace.not_utf8("jobs.csv", "invalid start byte", 7), "jobs.csv: not UTF-8: invalid start byte at byte 7"),
    (
        trace.gpus_not_free("train-0", [0, 1], (1, 2)),
        "the scheduler gave train-0 the GPUs [0, 1], of which (1, 2) are free",
    ),
    (
        trace.no_devices("team/train-0", "volcano.sh/gpu-ids", "x", "node-1"),
        "team/train-0: volcano.sh/gpu-ids: 'x' names no devices of node-1",
    ),
    (trace.SESSION_FAILED, "a session failed; the log says why"),
    (trace.watch_is_behind("pods", 60), "the watch of pods is behind for 60 s"),
    (trace.comes_to_no_rest(3), "3 sessions at one moment, and each evicts again: this policy comes to no rest"),
    (trace.replay_under("default"), "replay under default"),
    (trace.EIGHT_GPUS, "8 GPUs or more"),
    (trace.PART_OF_GPU, "part of a GPU"),
    (
        trace.LEGEND,
        "Over time: while pods come, from the hundredth part of them on. Waits: of pods that were placed.  * best",
    ),
    (
        trace.title("3 pods on 4 nodes", "8 GPUs", "as recorded", "1.50 of gpu"),
        "3 pods on 4 nodes with 8 GPUs, as recorded; at the peak they ask for 1.50 of gpu",
    ),
    (trace.times_as_fast("1.5"), "1.5 times as fast as recorded"),
    (trace.GPUS_IN_USE, "GPUs in use"),
    (trace.CPU_IN_USE, "cpu in use"),
    (trace.MEMORY_IN_USE, "memory in use"),
    (trace.GPUS_PEAK, "GPUs in use, peak"),
    (trace.FRAGMENTS, "free GPUs that are fragments, mean"),
    (trace.FAIRNESS_MEAN, "fairness among queues, mean"),
    (trace.FAIRNESS_LEAST, "fairness among queues, least"),
    (trace.FAIRNESS_OF_WEEK_MEAN, "fairness over the last week, mean"),
    (trace.FAIRNESS_OF_WEEK_LEAST, "fairness over the last week, least"),
    (trace.WAITING_MEAN, "pods waiting, mean"),
    (trace.WAITING_PEAK, "pods waiting, peak"),
    (trace.GPU_HOURS_LOST, "GPU hours lost to evictions"),
    (trace.LAST_START, "last pod started after"),
    (trace.IN_PIECES, "pods on pieces of more GPUs than asked"),
    (trace.SESSIONS_CHECKED, "sessions checked against the rules"),
    (trace.VIOLATIONS, "violations of rules"),
    (trace.OF_ALL_GPUS, "% of all GPUs"),
    (trace.OF_FREE_GPUS, "% of free GPUs"),
    (trace.UNUSABLE_GPUS, "Free GPUs that typical pods cannot use"),
    (trace.FAIRNESS, "Fairness among queues"),
    (trace.FAIRNESS_OF_WEEK, "Fairness among queues over the last week"),
    (trace.LAST_POD_COMES, " last pod comes"),
    (trace.WAIT_BY_SIZE, "Wait of 99 in 100 jobs, by what they ask for"),
    (trace.LOGARITHMIC, "at most (logarithmic)"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
