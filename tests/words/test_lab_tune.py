"""What tuning says."""

from __future__ import annotations

from vsched.lab.tune import words as tune

SENTENCES = [
    (tune.KEYS_OF_OBJECTIVES, "minimize, maximize, limits and search"),
    (tune.NO_GOAL, "no goal (expected minimize or maximize with a figure)"),
    (tune.NAMES_EXPECTED, "expected names, such as usage-history.halfLife"),
    (tune.ORDER, "order of tier "),
    (
        tune.NOT_A_PLAIN_POLICY,
        "--config: cannot be changed as it is written (expected actions and tiers, a plugin a line)",
    ),
    (tune.NOT_INSTALLED, "optuna is not installed (expected pip install 'vsched[tune]')"),
    (
        tune.ASKS_FOR_USAGE,
        "--config: metrics: a trace does not say how loaded nodes were (expected a policy without metrics)",
    ),
    (tune.CALLS_EXTENDERS, "--config: extender: nobody answers in a replay (expected a policy without this plugin)"),
    (
        tune.OTHER_STUDY,
        "--study: it is about another trace, policy, objective or seed (expected the same, or a new file)",
    ),
    (tune.NO_STUDY, "no study of this command"),
    (tune.NO_TRIALS, "--trials, --minutes: the search has tried nothing (expected more of them)"),
    (tune.MOST_FILES, "--trace: one file of jobs, or one of nodes and one of jobs"),
    (tune.UNDOING, "undoing changes of the best candidate one at a time"),
    (tune.JUDGING, "replaying what was found where nothing was tuned"),
    (tune.TUNED, "tuned"),
    (tune.JUDGED, "judged"),
    (tune.IN_FORCE, "in force"),
    (tune.FIGURE, "figure"),
    (tune.SMALLEST, "smallest change"),
    (
        tune.SMALLEST_TITLE,
        "The smallest change with most of the gain, and what each part of it does where nothing was tuned:",
    ),
    (tune.NO_CHANGE, "No candidate is better than the policy in force: keep it."),
    (tune.NOTHING_KEEPS, "No candidate keeps the limits."),
    (tune.NOT_GIVEN, "not given"),
    (tune.PARETO, "Candidates where they were tuned"),
    (tune.OTHERS, "other candidates"),
    (tune.FRONT, "best candidates"),
    (tune.JUDGED_FRONT, "the same where not tuned"),
    (tune.BROKEN_LIMITS, "limits broken"),
    (tune.CANDIDATE, "candidate"),
    (tune.HOLDS, "The gain holds where nothing was tuned."),
    (tune.SHRINKS, "Overfitting: less than half of the gain is left where nothing was tuned."),
    (tune.UNSURE, "The gain where nothing was tuned is not sure: it may as well be none."),
    (tune.LOST, "Overfitting: there is no gain where nothing was tuned. Do not use this."),
    (tune.ADDED, "added"),
    (tune.REMOVED, "left out"),
    (
        tune.NO_REAL_STARTS,
        "The trace does not say when jobs really started, or was changed by --nodes or --load: how well a"
        " replay of the policy in force matches what happened cannot be checked, so take differences "
        "between policies, not the figures.",
    ),
    (tune.HABITS, "Users change what they submit, and when, once waits change; the trace cannot show that."),
    (
        tune.RUN_TIMES,
        "A job runs as long as it did in the trace, wherever it runs; of those that never ran it is a guess.",
    ),
    (tune.BY_CANDIDATE, "candidate, in the order of the search"),
    (
        tune.cannot_be_read("o.yaml", "No such file or directory"),
        "o.yaml: cannot be read: No such file or directory (expected an objective)",
    ),
    (tune.too_large("o.yaml", 64), "o.yaml: too large for an objective: more than 64 KiB"),
    (tune.mapping_expected("a list"), "expected a mapping, got a list"),
    (
        tune.unknown_key("; did you mean 'limits'?"),
        "unknown key (expected minimize, maximize, limits or search); did you mean 'limits'?",
    ),
    (tune.too_many(4, "goals"), "too many goals (expected at most 4)"),
    (tune.twice("mean wait"), "'mean wait' is a goal twice"),
    (
        tune.known_figures("fairness, evictions", "NAME"),
        "fairness, evictions, utilisation of gpu, cpu or memory, or a wait such as 'p95 wait', 'mean wait"
        " of queue NAME', 'p50 wait of gangs over 64 gpus'",
    ),
    (tune.no_figure("'wait'", "fairness"), "'wait' is no figure (expected one of fairness)"),
    (tune.no_limit("'0.9'", '">= 0.97"'), "expected <= or >= and a value, such as \">= 0.97\", got '0.9'"),
    (tune.no_values("'5'", 32), "expected a range such as 1h .. 24h, or a list of 2 to 32 values, got '5'"),
    (tune.no_such_queue("vision", "a, b"), "the trace has no queue 'vision' (expected one of a, b)"),
    (
        tune.nothing_to_search("policy.yaml"),
        "policy.yaml: nothing to search (expected an argument under search in the objective)",
    ),
    (
        tune.unknown_search("; did you mean 'usage-history'?"),
        "no plugin, action or argument (expected PLUGIN.ARGUMENT, ACTION.ARGUMENT or PLUGIN); did you "
        "mean 'usage-history'?",
    ),
    (
        tune.not_optional("gang"),
        "gang is not searched: gangs, shares or filters would depend on it (expected one of its arguments)",
    ),
    (tune.values_are("on, off"), "expected some of on, off"),
    (tune.not_in_policy("pdb"), "the policy has no pdb (expected pdb under search as well)"),
    (
        tune.no_argument("binpack", "; did you mean 'binpack.cpu'?"),
        "binpack has no such argument; did you mean 'binpack.cpu'?",
    ),
    (tune.no_effect("reused anyway"), "has no effect: reused anyway"),
    (tune.no_range(True), "the range does not suit the argument (expected its type, and the smaller end first)"),
    (tune.no_range(False), "expected a range such as 1 .. 20, or a list of values"),
    (
        tune.cannot_be_changed("actions"),
        "--config: actions cannot be changed as it is written (expected actions and tiers, a plugin a line)",
    ),
    (tune.study_cannot_be_used("study.log", "Is a directory"), "--study: study.log: cannot be used: Is a directory"),
    (tune.judge_from("no pod comes in that time"), "--judge-from: no pod comes in that time"),
    (
        tune.no_jobs_in_part("tuned"),
        "--judge-from: no job comes in the part that is tuned (expected a time in the middle of the trace)",
    ),
    (
        tune.progress(8, 40, 7, 6, "12.0%", 61.4),
        "8 of 40 candidates, 6 keep the limits, best gain 12.0%; 7 replays in 61 s",
    ),
    (
        tune.title("policy.yaml", "31 jobs in 0.2 days", "68 jobs in 0.2 days", 5, 1200),
        "policy.yaml: 1,200 candidates tried in 5 dimensions; tuned on 31 jobs in 0.2 days, judged on 68 "
        "jobs in 0.2 days",
    ),
    (tune.part(1200, 13.96), "1,200 jobs in 14.0 days"),
    (tune.resampled(14, 24.0), "In brackets: 95 % of 1,000 resamples of 14 periods of 24 h, as days differ."),
    (tune.limit_broken("fairness >= 0.97"), "A limit is broken where nothing was tuned: fairness >= 0.97."),
    (tune.gains("18.0%", "11.0%"), "It gains 18.0% where it was tuned, 11.0% where it was not."),
    (tune.change_argument("usage-history.halfLife", "24h", "6h"), "usage-history.halfLife 24h -> 6h"),
    (tune.change_presence("easy-backfill", "added"), "easy-backfill added"),
    (tune.change_order("usage-history", "priority"), "usage-history before priority"),
    (tune.effect("easy-backfill added", "mean wait -3.0%"), "easy-backfill added: mean wait -3.0%"),
    (tune.effect_on("mean wait", "-3.0%", "-4.0%", "-2.0%"), "mean wait -3.0% (-4.0% to -2.0%)"),
    (
        tune.matches("tuned", 1200, 0.973, "7m", "6m"),
        "Replayed under the policy in force, 97% of 1,200 jobs (tuned) wait as long as they really did, "
        "within a minute or a tenth: 6m on average, and really 7m.",
    ),
]


def test_sentences() -> None:
    assert [said for said, _ in SENTENCES] == [sentence for _, sentence in SENTENCES]
