"""Policies under which no two jobs are alike: each job has turns of its own, and is told what it finds itself."""

from __future__ import annotations

import msgspec

from vsched.framework.jobs import JobView
from vsched.framework.points.extension import JobEnqueueable, JobPipelined, NoArgs, Plugin, Vote
from vsched.framework.policy import PluginConf, PluginTier, Policy
from vsched.framework.registry import Registry
from vsched.plugins import PLUGINS
from vsched.settings.built_in import REGISTRY


class Particular(Plugin[NoArgs], JobEnqueueable, JobPipelined):
    """Says nothing of any job, but takes no two jobs for alike."""

    name = "particular"

    def job_pipelined(self, job: JobView) -> Vote:
        return Vote.ABSTAIN

    def job_enqueueable(self, job: JobView) -> Vote:
        return Vote.ABSTAIN


KNOWN = Registry.of((*PLUGINS, Particular), REGISTRY.actions.values())


def told_apart(policy: Policy) -> Policy:
    """The same policy, under which no two jobs are alike."""
    last = PluginTier((PluginConf("particular", NoArgs()),))
    return msgspec.structs.replace(policy, tiers=(*policy.tiers, last))
