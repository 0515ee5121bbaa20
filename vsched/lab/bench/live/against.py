"""The same bench with the daemon of another commit: a git worktree of it in a temporary folder, and runs in turns."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from vsched.errors import BadInput
from vsched.lab.bench.words import live as words

HERE = Path(__file__).resolve().parents[4]
"""The checkout that this program runs from, if it does."""
GIT_SECONDS = 60.0
FIGURES = (
    "daemon_cpu_ms_per_pod",
    "pods_per_second",
    "writes_per_pod",
    "waiting.daemon_cpu_ms_per_pod",
    "waiting.pods_per_second",
    "waiting.writes_per_pod",
    "single_latency_ms.p50",
    "ratio",
    "server_times_volcano.placed_at_once",
)
"""What is compared: keys of a result, with a dot where they lie deeper."""


def measure_against(
    revision: str, rounds: int, run: Callable[[Mapping[str, str] | None], dict[str, Any]], checkout: Path = HERE
) -> dict[str, Any]:
    """Run with the daemon of today and with that of a revision in turns, so often each; medians and their ratio.

    ``run`` gives the result with a daemon in this environment. Only the daemon is of the revision: the cluster and the
    pods are those of today. Raises BadInput where there is no git, no checkout or no such revision.
    """
    commit = commit_of(revision, checkout)
    today: list[dict[str, Any]] = []
    then: list[dict[str, Any]] = []
    with worktree(commit, checkout) as tree:
        for _ in range(rounds):
            today.append(run(None))
            then.append(run(environment_of(tree)))
    return {"revision": revision, "commit": commit, "rounds": rounds, **comparison(today, then), "runs": [today, then]}


def comparison(today: list[dict[str, Any]], then: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of both, and how many times the figure of the revision today's is."""
    figures: dict[str, Any] = {}
    for name in FIGURES:
        ours, theirs = _values(today, name), _values(then, name)
        if not ours or not theirs:
            continue
        now, before = median(ours), median(theirs)
        if not now and not before:  # nothing of this was measured
            continue
        times = round(now / before, 3) if before else None
        figures[name] = {"today": now, "revision": before, "times": times, "runs": [ours, theirs]}
    return {"figures": figures}


def _values(results: list[dict[str, Any]], name: str) -> list[float]:
    """The figure of each result; empty where one of them does not have it."""
    found: list[float] = []
    for result in results:
        value: Any = result
        for key in name.split("."):
            value = value.get(key) if isinstance(value, dict) else None
        if value is None:
            return []
        found.append(value)
    return found


def environment_of(tree: Path) -> dict[str, str]:
    """The environment in which ``python -m vsched`` is that of a folder: not of where we are, nor the installed one."""
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}


def commit_of(revision: str, checkout: Path) -> str:
    """The commit that a revision names; raises BadInput, in one line, where that cannot be told."""
    if not (checkout / ".git").exists():
        raise BadInput(words.no_checkout(revision, str(checkout)))
    found = _git(checkout, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if found is None:
        raise BadInput(words.no_revision(revision, str(checkout)))
    return found.strip()


@contextmanager
def worktree(commit: str, checkout: Path) -> Iterator[Path]:
    """The files of a commit in a temporary folder, which is gone after the block."""
    with tempfile.TemporaryDirectory(prefix="vsched-", ignore_cleanup_errors=True) as folder:
        tree = Path(folder) / "tree"
        if _git(checkout, "worktree", "add", "--detach", "--quiet", str(tree), commit) is None:
            raise BadInput(words.not_checked_out(commit, str(tree)))
        try:
            yield tree
        finally:
            _git(checkout, "worktree", "remove", "--force", str(tree))


def _git(checkout: Path, *arguments: str) -> str | None:
    """What git prints; None where it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *arguments],  # the git that the user has
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise BadInput(words.NO_GIT) from None
    except subprocess.TimeoutExpired:
        return None
    return done.stdout if done.returncode == 0 else None
