"""What the commands of the lab say: the demo, the soak and the suites of benches."""

from __future__ import annotations

from vsched.lab import words as lab
from vsched.lab.demo import words as demo
from vsched.lab.soak import words as soak
from vsched.lab.soak.bottle import words as bottle
from vsched.lab.suites import words as suites

SENTENCES = [
    # lab/words
    (lab.NOT_INSTALLED, "--plots: matplotlib is not installed (expected pip install 'vsched[plots]', or --no-plots)"),
    (lab.cannot_be_made("results", "Permission denied"), "--out: results: cannot be made: Permission denied"),
    (
        lab.cannot_be_written("results/a.svg", "Permission denied"),
        "--out: results/a.svg: cannot be written: Permission denied",
    ),
    (lab.ended("embedded cluster", 1, ": refused"), "the embedded cluster ended with exit code 1: refused"),
    (lab.DID_NOT_COME_UP, "did not come up"),
    (lab.WAS_NOT_READY, "was not ready"),
    (lab.SAYS_NOTHING, "it says nothing"),
    (lab.not_ready(2.5, "it says nothing"), "the scheduler was not ready within 2 s: it says nothing"),
    (lab.NOWHERE_TO_DRAW, "--plots: nowhere to draw them (expected --out DIR with it)"),
    # lab/demo/words
    (demo.CONFIG_WITH_MEMORY, "--config: not with --memory, which has a policy of its own"),
    (demo.created_and_held(3, 4), "3 pods were created and 4 sessions were held"),
    (demo.none_bound(2.5, "it says nothing"), "no pod was bound within 2.5 s: it says nothing"),
    (demo.partly_bound(3), "3 gangs were left with a part of their pods bound"),
    (
        demo.log_cannot_be_written("file.yaml", "Permission denied"),
        "--log-file: file.yaml: cannot be written: Permission denied",
    ),
    (
        demo.gang_starts("team/train", "research", 3, 8, 2, 1234.4),
        "team/train         research      3 pods of 8 cpu on 2 nodes after 1,234 ms",
    ),
    (demo.bindings_failed(3), "3 bindings failed; see --log-file"),
    (demo.sessions_failed(3), "3 sessions failed; see --log-file"),
    (demo.PART, "part of the cluster, ┃ deserved"),
    (demo.LATELY, "used lately, part of the cluster"),
    (
        demo.progress(12.3, 40, 8, 5, 3, 4, "12 ms", "a 3/4, b 1/2"),
        " 12.3 s  40 pods bound, 8/s, 5 waiting, 3/4 nodes, latency 12 ms; cpus a 3/4, b 1/2",
    ),
    (demo.used_lately("a 40%, b 20%"), "; used lately a 40%, b 20%"),
    (demo.errors(2, "refused"), "\n2 errors, the last: refused"),
    (demo.rate(2.5, 3), "2 on average, 3 at most"),
    (demo.CREATION_TO_BINDING, "creation to binding"),
    (demo.with_waiting("12 ms"), "12 ms, waiting for room included"),
    (demo.gangs(3, 4), "3 bound, 4 partially bound"),
    (demo.held_by("research"), "held by research since all ask"),
    (demo.of_cluster(0.5), "50% of the cluster"),
    (demo.last_error("no value"), ", the last: no value"),
    (demo.headline(3, 4, 2.5), "   3/4 nodes used   2 s left"),
    (
        demo.totals(90, 40, 5, 35, "12 ms"),
        " (at most 90)   40 bound, 5 waiting, 35 finished   creation to binding 12 ms",
    ),
    # lab/soak/bottle/words
    (
        bottle.command(7, 10.0, 8, 2, 60.0, " --faults config/bottle.yaml", 31.5),
        "vsched soak --virtual --seed 7 --minutes 10 --nodes 8 --daemons 2 --pods-per-minute 60 "
        "--faults config/bottle.yaml --until 31.500s --trace trace.log",
    ),
    (bottle.broken("never bound", 2), "broken: never bound, 2 times"),
    (bottle.again("vsched soak --virtual"), "up to the moment before: vsched soak --virtual"),
    (bottle.smaller("vsched soak --virtual"), "the same goes wrong: vsched soak --virtual"),
    (bottle.NOTHING_PLANNED, "nothing is planned any more: whoever waits would wait for ever"),
    (bottle.DAEMON_DIED, "daemon died"),
    (bottle.ERROR_IN_LOG, "error in a log"),
    (bottle.STEP_FAILED, "step failed"),
    (bottle.NOTHING_GOES_WRONG, "from now on nothing goes wrong"),
    (bottle.SEED, "seed"),
    (bottle.VIRTUAL_SECONDS, "virtual seconds"),
    (bottle.PODS, "pods created, bound, finished"),
    (bottle.STARTS, "starts of daemons"),
    (bottle.DIGEST, "digest of the log"),
    (bottle.ONLY_VIRTUAL, "--hours, --until, --trace, --shrink: only on virtual time (expected --virtual with them)"),
    (
        bottle.NOT_VIRTUAL,
        "--virtual: expected none of --kill-every, --kills, --claims, --ask and --keep with it",
    ),
    (bottle.NOTHING_TO_SHRINK, "--shrink: no promise was broken in this run (expected a seed with which one is)"),
    # lab/soak/words
    (soak.UNBOUND, "never bound"),
    (soak.PARTIAL, "partial gang"),
    (soak.REQUEST_FAILED, "user's request"),
    (soak.cannot_be_made("logs", "Permission denied"), "--keep: logs: cannot be made: Permission denied"),
    (soak.ONE_DECIDES, "--shards: one daemon decides for all of them anyway (expected --daemons 2 or more)"),
    (soak.NOTHING_KILLED, "--kills: nothing is killed (expected --kill-every with it)"),
    (
        soak.too_few_nodes(600, 310.4, 10, 272.4, 12),
        "600 pods a minute hold 310 cpus, 10 nodes have room for 272: expected --nodes 12 or more",
    ),
    (soak.promises_broken("bound twice, partial gang"), "promises were broken: bound twice, partial gang"),
    (soak.is_on("team/train-0", "node-1"), "team/train-0 is on node-1"),
    (
        soak.volume_not_bound("team/train-0 is on node-1", "data"),
        "team/train-0 is on node-1, and the volume claim data is not bound",
    ),
    (soak.has_claim("team/train-0", "node-1", "gpu-0"), "team/train-0 is on node-1, and the claim gpu-0"),
    (
        soak.no_devices("team/train-0 is on node-1, and the claim gpu-0"),
        "team/train-0 is on node-1, and the claim gpu-0 has no devices there",
    ),
    (
        soak.not_reserved("team/train-0 is on node-1, and the claim gpu-0"),
        "team/train-0 is on node-1, and the claim gpu-0 is not reserved for it",
    ),
    (
        soak.two_owners("gpu.example.com/node-1/gpu-0", "team/gpu-0", "team/gpu-1"),
        "gpu.example.com/node-1/gpu-0 belongs to team/gpu-0 and to team/gpu-1",
    ),
    (soak.WITHOUT_NODE, "which has no node"),
    (soak.IS_GONE, "which is gone"),
    (soak.reserved_for("team/gpu-0", "train-0", "which is gone"), "team/gpu-0 is reserved for train-0, which is gone"),
    (soak.devices_for_nobody("team/gpu-0"), "team/gpu-0 has devices for nobody"),
    (soak.rule_violated("gang"), "rule violated (gang)"),
    (soak.ERROR_IN_LOG, "error in a log"),
    (soak.nobody_led(2.5), "nobody else led within 2 s of a kill"),
    (soak.no_binding(2.5), "no binding within 2 s of a new leader"),
    (soak.OVER_ITS_SIZE, "node over its size"),
    (soak.was_on("team/train-0", "node-1", "node-2"), "team/train-0 was on node-1 and is on node-2"),
    (soak.NONE_LEADS, "none says that it leads"),
    (soak.none_ready(2.5, "it says nothing"), "no daemon was ready within 2 s: it says nothing"),
    (soak.WITHOUT_CLAIMS, "pod without its claims"),
    (soak.CLAIM_FOR_NOBODY, "claim for nobody"),
    (soak.waited("team/train-0", 2.5), "team/train-0 waited 2 s more when no work came any more"),
    (soak.partly_bound("team/train"), "team/train has some of its pods bound and others not"),
    (soak.rose("rss_mb", 30.4, 100.2, 2.25), "rss_mb rose by 30.4 from 100.2, 2.25 a minute"),
    (soak.requests_failed(3, "refused"), "3 requests of the users failed, the last: refused"),
    (soak.SERIES, "series of metrics"),
    (soak.KILL_TO_LEADER, "kill to the next leader"),
    (soak.LEADER_TO_BINDING, "next leader to its first binding"),
    (soak.KILL_TO_BINDING, "kill to the next binding"),
    (soak.WARNINGS, "warnings of the daemons:"),
    (soak.PODS_CREATED, "pods created, bound, finished"),
    (soak.PODS_EVICTED, "pods evicted, works taken back"),
    (soak.CREATION_TO_BINDING, "creation to binding, p50 / p99 (ms)"),
    (soak.NEVER_BOUND, "pods never bound, gangs left partial"),
    (soak.SESSIONS_CHECKED, "sessions checked against the rules"),
    (soak.QUESTIONS_ANSWERED, "questions answered: page, explanations, dumps"),
    (soak.LEADERS_GAVE_UP, "leaders that gave up"),
    (soak.TOO_SHORT, "too short to say"),
    # lab/suites/words
    (
        suites.no_workload("a.yaml, b.yaml", "'5000Pods'", "Basic, Affinity", "performance, short"),
        "a.yaml, b.yaml: no workload fits '5000Pods' (expected one of the cases Basic, Affinity, and of "
        "the labels performance, short)",
    ),
    (suites.cannot_be_read("config.yaml:3", "Permission denied"), "config.yaml:3: cannot be read: Permission denied"),
    (suites.cases_nested("trace.csv"), "trace.csv: nested too deeply (expected a list of test cases)"),
    (suites.empty("trace.csv"), "trace.csv: empty (expected a list of test cases)"),
    (suites.at_least(2.5), "a number of at least 2.5"),
    (suites.whole_at_least(3), "a whole number of at least 3"),
    (suites.A_DURATION, "a duration such as 10s"),
    (suites.same_key("config.yaml", 5, "opcode"), "config.yaml:5: opcode: the same key twice"),
    (suites.missing("config.yaml:3", "opcode"), "config.yaml:3: opcode is missing"),
    (
        suites.no_parameter("config.yaml:3", "train"),
        "config.yaml:3 is 'train': the workload has no parameter of this name",
    ),
    (suites.no_workloads("trace.csv"), "trace.csv: no workloads (expected a list of test cases with workloads)"),
    (suites.configuration_not_used("config.yaml"), "config.yaml, a configuration of kube-scheduler, is not used"),
    (suites.not_used("createPods, barrier"), "no operation uses createPods, barrier"),
    (suites.not_known("config.yaml:3"), "config.yaml:3: not known here"),
    (
        suites.unknown_operation("config.yaml:3", "createPods"),
        "config.yaml:3: the operation createPods is not known here",
    ),
    (suites.unknown_field("config.yaml:3", "createPods"), "config.yaml:3: this field of createPods is not known here"),
    (suites.AN_OPERATION, "an operation createPods"),
    (suites.cannot_be_updated("Node", "node-1"), "Node node-1 cannot be updated: there is none"),
    (suites.not_placed(3, 4), "3 of 4 pods were not placed"),
    (suites.IN_CORE_ALONE, "updateAny is done in the core alone"),
    (suites.not_tried(3, 4), "3 of 4 pods were not tried"),
    (suites.ONE_DEVICE_ONLY, "allocResourceClaims is done for claims of one device of any kind only"),
    (suites.no_device_left("team/gpu-0"), "allocResourceClaims: no device of a node is left for team/gpu-0"),
    (suites.NO_PODS_MEASURED, "no pods are measured"),
    (suites.object_nested("trace.csv"), "trace.csv: nested too deeply (expected a Kubernetes object)"),
    (
        suites.cannot_be_filled("pod.yaml", 5, "{{.Name}}", ".Name is not known"),
        "pod.yaml:5: {{.Name}} cannot be filled in (.Name is not known)",
    ),
    (
        suites.expected_values("pod.yaml:5: {{.Name}} cannot be filled in", "add, div"),
        "pod.yaml:5: {{.Name}} cannot be filled in: expected .Index, .Count and add, div",
    ),
    (suites.no_object("trace.csv"), "trace.csv: no object (expected one Kubernetes object with apiVersion and kind)"),
    (suites.ENDS_TOO_EARLY, "it ends too early"),
    (suites.NOT_CLOSED, "a parenthesis is not closed"),
    (suites.word_not_known(".Name"), ".Name is not known"),
    (
        suites.FEATURE_GATES,
        "featureGates are those of kube-scheduler and mean nothing here; workloads that differ in them alone run once",
    ),
    (suites.PODS_PER_SECOND, "pods per second"),
    (suites.left_out("no pods are measured"), "left out: no pods are measured"),
    (suites.not_done("no pods are measured"), "not done: no pods are measured"),
    (suites.times_threshold(2.52, 270), ", 2.5 times the threshold of 270"),
    (suites.pods_per_second("in the core"), "pods per second, in the core"),
    (suites.is_left_out("5000Pods", "no pods are measured"), "5000Pods: left out: no pods are measured"),
    (suites.is_not_done("5000Pods", "no pods are measured"), "5000Pods: not done: no pods are measured"),
    (
        suites.nothing_compared("5000Pods", "SchedulingThroughput"),
        "5000Pods: its threshold is about SchedulingThroughput, so nothing is compared",
    ),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
