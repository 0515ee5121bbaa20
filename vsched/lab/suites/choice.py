"""Which workloads of which files."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from vsched.errors import BadInput
from vsched.lab.suites import words
from vsched.lab.suites.operations import Workload
from vsched.lab.suites.reading import read_suite


def chosen(files: Sequence[Path], patterns: Sequence[str], labels: Sequence[str]) -> list[Workload]:
    """The workloads of these files with all of these labels that one of the patterns fits, in the files' order.

    A pattern is about ``CASE/WORKLOAD`` with wildcards; the name of a case stands for all its workloads.
    """
    every = [workload for file in files for workload in read_suite(file)]
    found = [each for each in every if set(labels) <= set(each.labels) and _fits(each, patterns)]
    if not found:
        wanted = " and ".join(
            [f"--workload {pattern}" for pattern in patterns] + [f"--label {label}" for label in labels]
        )
        known = sorted({label for each in every for label in each.labels})
        names = ", ".join(dict.fromkeys(each.case for each in every))
        raise BadInput(words.no_workload(", ".join(map(str, files)), wanted, names, ", ".join(known) or "none"))
    return found


def _fits(workload: Workload, patterns: Sequence[str]) -> bool:
    names = (workload.full_name, workload.case)
    return not patterns or any(fnmatchcase(name, pattern) for name in names for pattern in patterns)
