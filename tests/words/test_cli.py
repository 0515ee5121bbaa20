"""What commands say of flags, of what they ask, and on pages of their own."""

from __future__ import annotations

from vsched.cli import words as shared
from vsched.cli.allocations import words as allocations
from vsched.cli.ask import words as ask
from vsched.cli.autoscaling import words as autoscaling
from vsched.cli.devices import words as devices
from vsched.cli.dump import words as dump
from vsched.cli.flags import words as flags
from vsched.cli.profile import words as profile
from vsched.cli.record import words as record
from vsched.cli.show import words as show
from vsched.cli.top import words as top
from vsched.cli.usage import words as usage
from vsched.cli.verify import words as verify
from vsched.sim.command import words as cluster

SENTENCES = [
    # cli/profile/words
    (profile.no_such_format("a.png", ".svg, .txt"), "a.png: expected a name that ends in one of .svg, .txt"),
    (profile.sampled(480, 5.02, 620), "480 samples in 5.0 s, 620 stacks of threads at work"),
    (profile.share_of_a_core(1.3), "threads at work: 130% of the time"),
    (profile.NOTHING_AT_WORK, "no thread was at work"),
    # cli/record/words
    (record.recording("work", "3 nodes"), "recording into work: 3 nodes (Ctrl-C ends it)"),
    (record.sizes(3, 1200), "3 nodes, 1,200 pods"),
    (record.recorded(1200, "work"), "1,200 lines written into work"),
    (record.NO_FOLDER, "--out FOLDER is missing: where to record"),
    (record.FOLDER_AND_COMMAND, "--out is for recording, not for a command about a trace"),
    (
        record.no_moment("noon"),
        "'noon': expected a date such as 2026-11-30 or 2026-11-30T14:05 (UTC), or a duration after the beginning",
    ),
    (
        record.nothing_between("2026-11-30T14:05:00", "2026-11-30T14:04:00"),
        "--since 2026-11-30T14:05:00 is not before --until 2026-11-30T14:04:00",
    ),
    (record.written("a.gz", 1200, 12.4), "a.gz: 1,200 lines, 12 kB"),
    (record.TIME, "time"),
    (record.GAPS, "not seen"),
    (record.SCHEDULERS, "schedulers"),
    (record.NODES, "nodes"),
    (record.JOBS, "jobs"),
    (record.PODS, "pods"),
    (record.QUEUE, "queue"),
    (record.STARTED, "started"),
    (record.WAITING, "never started"),
    (record.MEDIAN, "median"),
    (record.P95, "p95"),
    (record.LONGEST, "longest"),
    (record.ANONYMOUS, "names are made up"),
    (
        "; ".join(record.ENDED.values()),
        "succeeded; failed; deleted; ended unseen; there at the end",
    ),
    (
        record.span("2026-11-30 14:05:00", "2026-11-30 15:05:00", "1h"),
        "2026-11-30 14:05:00 to 2026-11-30 15:05:00 UTC (1h)",
    ),
    (record.gap("2026-11-30 14:05:00", "10m"), "10m from 2026-11-30 14:05:00"),
    (record.gangs(1200, 30), "1,200, 30 of them gangs"),
    (record.bound_by("volcano", 1200), "volcano bound 1,200"),
    (flags.no_size("x", "1Mi"), "'x': expected an amount of bytes of at least 1Mi, such as 512Mi"),
    # cli/words
    (shared.no_room("No space left on device"), "vsched: No space left on device (where the results go)"),
    (shared.did_you_mean("gpu"), "; did you mean 'gpu'?"),
    (
        shared.not_installed("demo", "lab"),
        "vsched demo is not installed (expected: pip install 'vsched[lab]')",
    ),
    # cli/allocations/words
    (
        allocations.no_share("gpu", "; did you mean 'gpu'?"),
        "no namespace and no bucket 'gpu' has a share of the cluster; did you mean 'gpu'?",
    ),
    (
        allocations.are_not_served("http://10.0.0.1", "consumers.vsched.io"),
        "consumers.vsched.io are not served by http://10.0.0.1 (expected the definitions of the arbitrator to be "
        "installed, and `vsched run --arbitrate`)",
    ),
    (allocations.NOTHING_IS_DIVIDED, "nothing is divided: there are no Consumers and no Allocations"),
    (
        allocations.legend("#", "+", ".", "|"),
        "# held  + reserved for it  . may be held (hard, else the cluster)  | deserved",
    ),
    (allocations.HOLD_AND_ASK, "hold and ask"),
    (allocations.HOLDS_AND_ASKS, "holds and asks"),
    (allocations.idle(3, "hold and ask"), "and 3 that hold and ask for nothing"),
    (allocations.more_problems(3), "and 3 more (-o json has all)"),
    (allocations.namespaces_have(3), "3 namespaces have"),
    (
        allocations.no_allocation_yet("namespace team has"),
        "namespace team has no Allocation yet: is `vsched run --arbitrate` running?",
    ),
    # cli/ask/words
    (
        ask.are_not_served("http://10.0.0.1", "queues.scheduling.volcano.sh"),
        "http://10.0.0.1 serves no queues.scheduling.volcano.sh (are the definitions installed?)",
    ),
    (ask.which_namespace("team/train", "other"), "'team/train' with -n other: which namespace is meant?"),
    (ask.no_recording("it is gone"), "it is gone (expected a file that vsched dump wrote)"),
    # cli/autoscaling/words
    (
        autoscaling.NO_PROVISIONING_REQUESTS,
        "nodes are not requested by ProvisioningRequests (set autoscaling in the policy)",
    ),
    (autoscaling.NO_NODES_REQUESTED, "no nodes are requested"),
    (autoscaling.NO_BUFFERS, "there are no CapacityBuffers"),
    # sim/command/words
    (cluster.no_number_and_no_file('"x"'), 'must be a number or a file of nodes, is "x"'),
    (cluster.no_usage("x"), "'x': expected a share of the request such as 0.6, or two such as 0.2-1.4"),
    (cluster.USAGE_WITH_API_ONLY, "--usage: has no effect with --api-only, where no pod runs"),
    (cluster.DEVICES_WITH_API_ONLY, "--devices: has no effect with --api-only, where no driver runs"),
    (cluster.POOLS_WITH_API_ONLY, "--pools: has no effect with --api-only, where no autoscaler runs"),
    (cluster.USAGE_WITHOUT_KUBELETS, "--usage: has no effect with --no-kubelets, where no pod runs"),
    (cluster.to_try("sim.kubeconfig"), "try          kubectl --kubeconfig sim.kubeconfig get nodes"),
    # cli/devices/words
    (devices.NO_DEVICES, "no node has devices"),
    (devices.no_such_node("a.json.gz", "n1"), "a.json.gz: it has no node 'n1'"),
    (devices.NO_DEVICES_ON_THESE, "these nodes have no devices"),
    (devices.first_nodes(3, 8), "the first 3 of 8 nodes; name others to see them"),
    (devices.WITHOUT_A_JOB, "pods without a job"),
    (devices.job_in_queue("team/train", "research"), "team/train in queue research"),
    (devices.held_of_counted(3, 8), "3 of 8 held of counted devices"),
    # cli/dump/words
    (dump.LIST_WRITES_NOTHING, "--list: nothing is written (expected no --out, --anonymous or --recording with it)"),
    (dump.NOT_TO_A_TERMINAL, "-O -: a terminal cannot show it (expected a file, or a program after |)"),
    (dump.NEXT_SESSION, "its next session"),
    (dump.WHAT_WAS_SENT, "what the daemon sent"),
    (dump.exists_already("a.json.gz"), "a.json.gz: exists already (-O a.json.gz overwrites it)"),
    (dump.NOTHING_LOOKED_WRONG, "nothing looked wrong"),
    # cli/flags/words
    (flags.is_supported("devices"), "--ignore-unsupported devices: is supported; leave the word out"),
    (flags.unknown("x", "volumes"), "'x' is unknown (expected volumes)"),
    (flags.no_period("x", "period"), "'x' is not a period (expected seconds, or such as 500ms, 1m30s)"),
    (flags.no_time_span("x", "30d"), "'x' is not a time up to 30d (expected such as 24h, 30d, 90m)"),
    (flags.no_percentage("x"), "'x' is not a percentage (expected such as 1%, at most 100%, or 0)"),
    (flags.no_integer('"x"'), 'must be an integer, is "x"'),
    (flags.no_number('"x"'), 'must be a number, is "x"'),
    (flags.out_of_range(9, "1<=x<=8"), "9 is not a number of the range 1<=x<=8."),
    (flags.unprintable("x"), "'x' has unprintable characters."),
    (flags.empty("x"), "'x' is empty."),
    (flags.did_you_mean("queue"), "did you mean 'queue'?"),
    (flags.help_lists("vsched"), "vsched --help lists them"),
    (flags.no_command("queues", "did you mean 'queue'?"), "there is no command 'queues' (did you mean 'queue'?)"),
    # cli/show/words
    (show.WHOLE_CLUSTER, "the whole cluster"),
    (show.asks_for("2 tiers"), "asks for 2 tiers"),
    (show.pods_are_in("rack-1", 2), "its pods are in rack-1, tier 2"),
    (show.and_asks_for("cpu 2"), "; asks for cpu 2"),
    (
        show.has_on_nodes("rack-1", "2 pods", 4, " of tier 2", "; asks for cpu 2"),
        "rack-1 has 2 pods of at least 4 on nodes of tier 2; asks for cpu 2",
    ),
    (show.HAS_ROOM_FOR, "has room for"),
    (show.more_domains("2 more domains", 2, ", rack"), "and 2 more domains of tier 2, rack"),
    # cli/top/words
    (top.ONCE_AND_SECONDS, "--once and --seconds exclude each other"),
    (top.NOT_TRIED_YET, "not tried yet"),
    (top.nothing_new("5m", "nobody listens there"), "nothing new for 5m: nobody listens there"),
    (top.nothing_changed("1h"), "nothing changed for 1h"),
    (top.NO_POLICY_YET, "no policy yet"),
    (
        top.edit_rejected(3, " 5m ago", "actions: missing"),
        "policy 3 stays, an edit was rejected 5m ago: actions: missing",
    ),
    (top.keys("1 queues  2 jobs"), "1 queues  2 jobs   tab next, arrows and page keys scroll, q quits"),
    # cli/usage/words
    (usage.PLAN_NEEDS_FIGURES, "-o plan: needs the figures of the source (expected --config POLICY)"),
    (usage.no_source("policy.yaml"), "policy.yaml: has no source of node usage (metrics.type, metrics.address)"),
    (usage.nodes_shown(3, 8), "3 of 8 nodes (unusual ones and a sample)"),
    (usage.of_each_node("2 nodes", 1), "2 nodes; percent of each node allocated; usage known of 1"),
    (usage.NO_CLUSTER, "no cluster to compare with (--kubeconfig FILE): these are the source's own figures"),
    (usage.closed_above("80%"), "closed to new pods above 80%"),
    (usage.no_such_nodes("a, b", " and 2 more"), "it has figures for what is no node: a, b and 2 more"),
    (usage.ahead(3), "3 nodes are left out: their samples are from the future, a clock is wrong"),
    (usage.ages(3.2, 40.7), "  newest samples: 3 to 41 s old"),
    (usage.NO_SAMPLES, "  newest samples: none"),
    # cli/verify/words
    (
        verify.ends_in_error("a.json.gz", "KeyError"),
        "a.json.gz: the cycle ends in an error and decides nothing: KeyError",
    ),
    (
        verify.not_in_snapshot("a.json.gz", "team/train"),
        "a.json.gz: its report is about team/train, which its snapshot does not have",
    ),
    (verify.more_violations("session 3: ", "quota", 4), "session 3: quota: and 4 more (-o json has all)"),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
