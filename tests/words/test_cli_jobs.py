"""What the commands for jobs and queues say."""

from __future__ import annotations

from vsched.cli.check import words as checks
from vsched.cli.explain import words as explain
from vsched.cli.job import words as jobs
from vsched.cli.queue import words as queues
from vsched.cli.replay import words as replay
from vsched.cli.rollout import words as rollouts

SENTENCES = [
    # cli/check/words
    (checks.candidate("new.conf"), "candidate new.conf:"),
    (checks.limit("wait p95", "<= 30s"), "  limit: wait p95 <= 30s"),
    (checks.rollout("new.conf", take_back=True), "rollout of new.conf, taken back where a limit is broken:"),
    (checks.step(2, "the candidate is in force for 24h"), "  step 2: the candidate is in force for 24h"),
    # cli/explain/words
    (explain.FILE_DOES_NOT_CHANGE, "--watch and --from: a file does not change"),
    (explain.IS_KNOWN_HERE, "is known here"),
    (explain.searching_on(20), "Not all was tried. Searching for 20 s more; Ctrl+C ends it."),
    (explain.NOTHING_ELSE, "Nothing else was found."),
    (explain.NOT_LOOKED_AT, "no controller has looked at it yet"),
    (explain.of_scheduler("volcano"), "; its spec.schedulerName is volcano"),
    (explain.in_phase("Completed"), "it is Completed"),
    (explain.no_podgroup("team/train", "it is gone"), "vcjob team/train has no PodGroup: it is gone"),
    (explain.cycle_ended_in_error("a.json.gz"), "a.json.gz: the cycle in it ended in an error, so nothing was decided"),
    (explain.other_kind("pod", "job"), "a pod, and no job"),
    (explain.NOT_IN_IT, "not in it"),
    (explain.AS_THINGS_ARE, "cannot start as things are"),
    (explain.WAITS_TO_START, "has its nodes and waits to start"),
    (explain.HAS_WAITING_JOBS, "has jobs that wait"),
    (explain.HAS_STUCK_JOBS, "has jobs that cannot start as things are"),
    (explain.IN_THE_WAY, "in the way"),
    (explain.gang_waits("team/train"), "its gang team/train waits: "),
    (explain.WOULD_START_WITH, "would start with"),
    (explain.position_in_all(2, 5), "2 of 5 in all"),
    (explain.pods_pending("2 jobs", 3, 5), "2 jobs, with 3 of 5 pods pending"),
    (explain.of_at_least(4), " of at least 4"),
    (explain.WAITING_DOES_NOT_HELP, " (waiting does not help)"),
    (explain.other_reasons(3), "and 3 other reasons (-o wide)"),
    # cli/job/words
    (jobs.not_with_vcjobs("--phase"), "--phase: not with --vcjobs (vcjobs have other phases)"),
    (jobs.not_with_file("--image, --min"), "--image, --min: not with -f (the file has these)"),
    (
        jobs.WITHOUT_DAEMON,
        "what the PodGroups themselves say is shown, without positions and without counts of what is ready",
    ),
    (
        jobs.DAEMON_SHOWS_THEM,
        "what the PodGroups themselves say is shown, without positions and without counts of what is "
        "ready (--daemon URL shows them)",
    ),
    (
        jobs.not_known("team/train", "http://127.0.0.1:8080"),
        "no job team/train is known to the daemon at http://127.0.0.1:8080",
    ),
    (jobs.several_podgroups(3, "team/train", "a, b"), "3 PodGroups were made for team/train: a, b"),
    (jobs.no_podgroup("team/train", "http://10.0.0.1"), "there is no PodGroup team/train in http://10.0.0.1"),
    (jobs.no_vcjob("team/train", "http://10.0.0.1"), "there is no vcjob team/train in http://10.0.0.1"),
    (
        jobs.expected_job("jobs.yaml", "Pod of v1", "batch.volcano.sh/v1alpha1"),
        "jobs.yaml: Pod of v1 (expected Job of batch.volcano.sh/v1alpha1)",
    ),
    (
        jobs.nothing_in_it("jobs.yaml", "batch.volcano.sh/v1alpha1"),
        "jobs.yaml: nothing in it (expected Job of batch.volcano.sh/v1alpha1)",
    ),
    (jobs.above_the_limit("cpu", "8", "4"), "--requests: cpu=8 is more than the limit of 4 (--limits sets it)"),
    (jobs.no_amounts("--limits", "cpu"), "--limits: 'cpu' (expected amounts such as cpu=1000m,memory=100Mi)"),
    (
        jobs.not_installed("http://10.0.0.1", "404: not found"),
        "http://10.0.0.1: 404: not found (are the definitions installed?)",
    ),
    (jobs.which_namespace("team", "train", "other"), "vcjob team/train with -n other: which namespace is meant?"),
    (jobs.has_ended("team/train", "Completed"), "vcjob team/train: it has ended (Completed)"),
    (jobs.ABOUT_TO_START, "about to start"),
    (jobs.is_already("team/train", "Aborted"), "vcjob team/train is already Aborted"),
    (
        jobs.still("team/train", "Command abort-1", "Running", 10),
        "vcjob team/train: asked, by Command abort-1, and still Running after 10 s (is vsched running, "
        "or Volcano's controllers?)",
    ),
    (jobs.explain_shows_more("team/train"), "\nvsched explain team/train shows more"),
    (jobs.position(2, 5, 3, 8), "2 of 5 in its queue, 3 of 8 in all"),
    (jobs.WOULD_START_WITH, "would start with "),
    # cli/rollout/words
    (rollouts.place_expected("policy"), "'policy' (expected NAMESPACE/NAME of the policy's ConfigMap)"),
    (rollouts.not_found("a/b"), "configmap a/b: not found"),
    (rollouts.no_rollout("a/b"), "configmap a/b: no key rollout: no rollout is under way"),
    (
        rollouts.not_begun("a/b"),
        "configmap a/b: no daemon has begun this rollout (vsched run --scheduler-configmap a/b)",
    ),
    (
        rollouts.has_ended("a/b", "TakenBack", "promote"),
        "configmap a/b: the rollout is TakenBack: promote changes nothing (edit the rollout to begin anew)",
    ),
    (
        rollouts.asked("a/b", "promote"),
        "configmap a/b: asked for promote; vsched rollout status a/b says when it is done",
    ),
    (rollouts.in_force("new", candidate=True), "in force  the candidate new"),
    (rollouts.in_force("new", candidate=False), "in force  the policy, not the candidate new"),
    (
        rollouts.in_force("new", candidate=True, shard=1),
        "in force  the candidate new in shard 1, the policy in the others",
    ),
    (
        rollouts.waits(1),
        "waits     until the daemon of shard 1 has no other shard (start as many daemons as there are shards)",
    ),
    (rollouts.at_step("Held", 1, 2, "2026-08-01"), "phase     Held, step 1 of 2, since 2026-08-01"),
    (rollouts.before_steps("Baseline", "2026-08-01"), "phase     Baseline, before the first step, since 2026-08-01"),
    (rollouts.served("5m", "24h"), "time      5m of 24h measured"),
    (rollouts.why("all is well"), "why       all is well"),
    (rollouts.figure("wait p95", "3s", "<= 30s"), "limit     wait p95: measured 3s, promised <= 30s"),
    (rollouts.NOTHING, "nothing yet"),
    # cli/queue/words
    (queues.PODS_REMAIN, "pods without a PodGroup remain"),
    (
        queues.no_dimension("job", "queue, namespace, user"),
        "'job' (expected some of queue, namespace, user, with commas between them)",
    ),
    (queues.is_already("research", "Closed"), "queue research is already Closed"),
    (
        queues.still("research", "Command close-1", "Open", 10),
        "queue research: asked, by Command close-1, and still Open after 10 s (is vsched running, and "
        "does its --command-namespace include that namespace?)",
    ),
    (queues.no_queue("researhc"), "queue 'researhc' does not exist"),
    (queues.NO_QUEUES, "there are no queues"),
    (queues.share_of_deserved(0.5), "50% of what it deserves"),
    (queues.with_its_parent("root"), "with its parent root"),
    (queues.legend("#", ".", "|"), "# held  . may be held (capability, else the cluster)  | deserved"),
    (queues.DAEMON_KNOWS_SHARES, "\nonly a daemon knows shares by weight: --daemon URL"),
    (queues.NOTHING_COUNTED, "nothing has been counted yet"),
    (queues.more_rows(3), "and 3 more (-o wide and -o csv have all)"),
    (queues.of_which_counted("1h"), ", of which 1h were counted"),
    (
        queues.of_the_last("1h", ", of which 30m were counted", "2 nodes now"),
        "the last 1h, of which 30m were counted; 2 nodes now; share: the largest part of what the cluster had",
    ),
    (queues.NO_DATA, "there is no data yet"),
    (queues.held_over("1h"), "held over the last 1h"),
    (
        queues.shares_explained("1m", "80%"),
        "dominant shares of the cluster, with the queues below; each point is the mean of 1m; a full cell is 80%",
    ),
    (
        queues.hourly_before("2026-08-01T03:00:00Z"),
        "before 2026-08-01T03:00:00Z, when this daemon began to lead, only hourly means of what was held are known",
    ),
    (queues.no_history(3, "queues have"), "3 more queues have no history: there are too many"),
    # cli/replay/words
    (replay.NOTHING_TO_REPLAY, "nothing to replay (expected FILE, as vsched dump writes it, or --trace)"),
    (replay.one_at_a_time("b.json.gz"), "b.json.gz: one FILE at a time (two CSV files of a trace come after --trace)"),
    (replay.not_asked_then(3), "3 questions to an extender had not been asked then: they count as not answered"),
    (replay.NO_EXTENDER_ASKED, "in further cycles no extender is asked"),
    (replay.recorded_by("0.9.0", "abc", "0.9.1", "def"), "recorded by vsched 0.9.0 (abc), run again by 0.9.1 (def)"),
    (replay.unrecorded(3), "3 answers of an extender are not in the file: it cannot be run again exactly"),
    (replay.from_number("binds", 3), "binds, from number 3 on"),
    (replay.NAMES_MADE_UP, ", names made up"),
    (replay.kept_for("preemption", "3 pods evicted"), "kept for preemption: 3 pods evicted"),
    (replay.same_error("KeyError"), "the same error: KeyError"),
    (replay.recorded_was("KeyError"), "recorded was KeyError"),
    (replay.RECORDED_DECISIONS, "recorded were decisions"),
    (replay.an_error("KeyError", "recorded were decisions"), "an error: KeyError (recorded were decisions)"),
    (replay.no_error("2 bound", "KeyError"), "no error: 2 bound (recorded was KeyError)"),
    (replay.same("2 bound"), "the same, byte for byte: 2 bound"),
    (replay.by_config("policy.yaml", "2 bound", "3 bound"), "by policy.yaml: 2 bound; it was 3 bound"),
    (replay.not_same("2 bound", "3 bound"), "not the same: 2 bound; recorded were 3 bound"),
    (replay.more_rows(3), "and 3 more (-o json has them all)"),
    (replay.OF_THE_CYCLE, "of the cycle"),
    (replay.TIMES_OVERLAP, "Times of plugins are part of those of actions; measuring them takes time itself."),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
