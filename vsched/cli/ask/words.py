"""What is said of an API server and of files that are asked."""

from __future__ import annotations

# -- objects of an API server ------------------------------------------------------------------------------------------


def are_not_served(server: str, resource: object) -> str:
    return f"{server} serves no {resource} (are the definitions installed?)"


def which_namespace(name: str, namespace: str) -> str:
    return f"{name!r} with -n {namespace}: which namespace is meant?"


# -- recordings --------------------------------------------------------------------------------------------------------


def no_recording(why: object) -> str:
    return f"{why} (expected a file that vsched dump wrote)"
