"""Weights of resources in the arguments of plugins that score by how full something would be."""

from __future__ import annotations

from collections.abc import Mapping


def lenient(weight: int) -> int:
    """1 in place of a negative weight."""
    return weight if weight >= 0 else 1


def by_resource(cpu: int, memory: int, listed: str, weights: Mapping[str, int]) -> dict[str, int]:
    """The weight of every resource that counts: cpu, memory, and those that are listed, comma-separated.

    A listed resource without a weight of its own has 1. Those of cpu and memory are their own, listed or not.
    """
    names = [name.strip() for name in listed.split(",")] if listed else ()
    return {name: weights.get(name, 1) for name in names if name} | {"cpu": cpu, "memory": memory}
