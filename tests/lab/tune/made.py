"""Traces made for tuning, in files: small jobs that fill two machines all the time, and gangs among them."""

from __future__ import annotations

from pathlib import Path

POLICY = """\
# First come, first served: gangs starve as long as small jobs come.
actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: binpack            # jobs of eight GPUs need whole machines
    arguments: {binpack.weight: 10}
"""
PART_SECONDS = 3 * 3600


def jobs_csv(*, gangs_later: bool = True) -> str:
    """Two parts of three hours; a job of one GPU for half an hour comes every eight minutes, a gang of four GPUs every
    hour, in the second part only if asked.
    """
    lines = []
    for part in range(2):
        begin = part * PART_SECONDS
        lines += [(begin + at, "small", 1, 1, 1800) for at in range(0, PART_SECONDS, 480)]
        if not part or gangs_later:
            lines += [(begin + at, "gang", 2, 2, 600) for at in range(1800, PART_SECONDS, 3600)]
    head = "arrival,queue,pods,gpus,duration,declared"
    rows = [f"{at},{queue},{pods},{gpus},{runs},{runs}" for at, queue, pods, gpus, runs in sorted(lines)]
    return "\n".join([head, *rows, ""])


def written(folder: Path, objective: str, policy: str = POLICY, **shape: bool) -> list[str]:
    """The files of a tuning, and the arguments that name them."""
    for name, text in (("jobs.csv", jobs_csv(**shape)), ("objective.yaml", objective), ("policy.yaml", policy)):
        (folder / name).write_text(text, encoding="utf-8")
    return [
        *("tune", "--trace", str(folder / "jobs.csv"), "--machines", "2x2", "--judge-from", "0.125", "--quiet"),
        *("--objective", str(folder / "objective.yaml"), "--config", str(folder / "policy.yaml")),
    ]
