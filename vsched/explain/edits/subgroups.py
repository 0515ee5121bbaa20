"""Edits of one policy of the sub-groups of a job.

``subGroupPolicy`` is a list, so the commands are JSON patches. Each tests first that the list still has the values of
the snapshot at the places that it changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from vsched.errors import BadInput
from vsched.explain.edits.base import Before, without
from vsched.explain.edits.jobs import PODGROUPS, GroupEdit, known_job, lowered, restate, wider
from vsched.explain.words import edits as words
from vsched.explain.words.lines import as_json, line
from vsched.explain.words.phrases import limit_of, with_less
from vsched.mirror.whatif import words as refusals
from vsched.mirror.whatif.records import EditableMirror
from vsched.model.amounts.counted import format_counted
from vsched.model.jobs.spec import JobSpec
from vsched.model.topology.constraints import SubGroupPolicy
from vsched.model.topology.subgroups import title_of

Step = dict[str, Any]


class SubGroupEdit(GroupEdit, frozen=True):
    """Change one policy of sub-groups, and the gang's minimum with it."""

    policy: int
    """The position of the policy in ``subGroupPolicy``."""

    def known(self, spec: JobSpec) -> SubGroupPolicy:
        """The policy; raises BadInput if there is none."""
        if self.policy >= len(spec.sub_groups):
            raise BadInput(refusals.no_sub_group_policy(self.job, self.policy))
        return spec.sub_groups[self.policy]

    def with_policy(self, spec: JobSpec, policy: SubGroupPolicy) -> tuple[SubGroupPolicy, ...]:
        """The policies of the job, with another one in the place of this."""
        return (*spec.sub_groups[: self.policy], policy, *spec.sub_groups[self.policy + 1 :])

    def steps(self, spec: JobSpec, policy: SubGroupPolicy, at: str) -> list[Step]:
        """The steps of the JSON patch; ``at`` is the path of the policy."""
        raise NotImplementedError

    def group_lines(self, spec: JobSpec) -> list[str]:
        policy, at = spec.sub_groups[self.policy], f"/spec/subGroupPolicy/{self.policy}"
        named = [_test(f"{at}/name", policy.name)] if policy.name else []
        steps = as_json([*named, *self.steps(spec, policy, at)])
        return [line("kubectl", "patch", PODGROUPS, spec.name, "-n", spec.namespace, "--type", "json", "-p", steps)]


class SetSubGroupTier(SubGroupEdit, frozen=True, tag="subGroupTier"):
    """Let each sub-group of one policy of a job be in one domain of a higher tier (``highestTierAllowed``)."""

    tier: int

    def apply(self, cluster: EditableMirror) -> None:
        job = known_job(cluster, self.job)
        policy = self.known(job.spec)
        if policy.topology is None:
            raise BadInput(refusals.no_sub_group_topology(self.job, self.policy))
        higher = replace(policy, topology=wider(policy.topology, self.tier))
        restate(cluster, job, sub_groups=self.with_policy(job.spec, higher))

    def phrase(self, before: Before, spec: JobSpec) -> str:
        title = title_of(spec.sub_groups, self.policy)
        return words.highest_tier_of_sub_groups(self.tier, title, limit_of(spec.sub_groups[self.policy].topology))

    def steps(self, spec: JobSpec, policy: SubGroupPolicy, at: str) -> list[Step]:
        """The tier by its number; a tier that was given by name goes, because both together are refused."""
        at, topology = f"{at}/networkTopology", policy.topology
        becomes = _set(f"{at}/highestTierAllowed", self.tier)
        if topology is not None and topology.tier_name:
            name = f"{at}/highestTierName"
            return [_test(name, topology.tier_name), {"op": "remove", "path": name}, becomes]
        return [_test(f"{at}/highestTierAllowed", None if topology is None else topology.highest_tier), becomes]


class SetMinSubGroups(SubGroupEdit, frozen=True, tag="minSubGroups"):
    """Lower how many sub-groups of one policy a job needs (``minSubGroups``)."""

    minimum: int
    members: int
    """The new ``minMember`` of the whole gang."""
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if they stay, or the job states none."""

    def apply(self, cluster: EditableMirror) -> None:
        _lower(cluster, self, minimum=self.minimum)

    def phrase(self, before: Before, spec: JobSpec) -> str:
        fewer = spec.sub_groups[self.policy].minimum - self.minimum
        return words.minimum_of_sub_groups(self.minimum, title_of(spec.sub_groups, self.policy), fewer) + _also(
            spec, self
        )

    def steps(self, spec: JobSpec, policy: SubGroupPolicy, at: str) -> list[Step]:
        return [
            _test(f"{at}/minSubGroups", policy.minimum),
            _set(f"{at}/minSubGroups", self.minimum),
            *_rest(spec, self),
        ]

    def smaller(self) -> Iterator[SetMinSubGroups]:
        for name in self.min_resources:
            yield replace(self, min_resources=without(self.min_resources, name))


class SetSubGroupSize(SubGroupEdit, frozen=True, tag="subGroupSize"):
    """Lower the minimum of each sub-group of one policy of a job (``subGroupSize``)."""

    size: int
    members: int
    """The new ``minMember`` of the whole gang."""
    min_resources: dict[str, int] = {}
    """The new ``minResources`` by resource; empty if they stay, or the job states none."""

    def apply(self, cluster: EditableMirror) -> None:
        _lower(cluster, self, size=self.size)

    def phrase(self, before: Before, spec: JobSpec) -> str:
        fewer = spec.sub_groups[self.policy].size - self.size
        return words.size_of_sub_groups(self.size, title_of(spec.sub_groups, self.policy), fewer) + _also(spec, self)

    def steps(self, spec: JobSpec, policy: SubGroupPolicy, at: str) -> list[Step]:
        return [_test(f"{at}/subGroupSize", policy.size), _set(f"{at}/subGroupSize", self.size), *_rest(spec, self)]

    def smaller(self) -> Iterator[SetSubGroupSize]:
        for name in self.min_resources:
            yield replace(self, min_resources=without(self.min_resources, name))


Smaller = SetMinSubGroups | SetSubGroupSize


def _lower(cluster: EditableMirror, edit: Smaller, **fields: int) -> None:
    """Change the policy, and what the gang states with it."""
    job = known_job(cluster, edit.job)
    policies = edit.with_policy(job.spec, replace(edit.known(job.spec), **fields))
    stated = lowered(job.spec, edit.min_resources, cluster.axis)
    restate(cluster, job, sub_groups=policies, min_member=edit.members, min_resources=stated)


def _also(spec: JobSpec, edit: Smaller) -> str:
    """What is said of what the gang states."""
    members = words.and_min_member(edit.members) if edit.members != spec.min_member else ""
    return f"{members}{with_less(spec, edit.min_resources)}"


def _rest(spec: JobSpec, edit: Smaller) -> list[Step]:
    """The steps for what the gang states."""
    steps = [_set("/spec/minMember", edit.members)] if edit.members != spec.min_member else []
    for name, amount in edit.min_resources.items():
        steps.append(_set(f"/spec/minResources/{name.replace('/', '~1')}", format_counted(name, amount)))
    return steps


def _test(path: str, value: object) -> Step:
    return {"op": "test", "path": path, "value": value}


def _set(path: str, value: object) -> Step:
    return {"op": "add", "path": path, "value": value}
