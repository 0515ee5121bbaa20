"""A JobTemplate and its status: the vcjobs that JobFlows have made of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from vsched import api
from vsched.api.base import json_object
from vsched.api.resources import JOB_TEMPLATES
from vsched.controllers.flows.made import Body, MadeJob, maker_key
from vsched.writes.bodies import ObjectReference

MADE_JOBS = "jobDependsOnList"
"""The field of the status that names the vcjobs."""
LISTED_MAX = 1000
"""So many vcjobs the status names: the newest ones."""


class TemplateRecord(msgspec.Struct, frozen=True):
    """The vcjob that flows of its name make."""

    spec: Mapping[str, Any]
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    status: Mapping[str, Any] = {}
    deleting: bool = False

    @property
    def key(self) -> str:
        return maker_key("JobTemplate", self.namespace, self.name)

    @property
    def reference(self) -> ObjectReference:
        """The object reference for Events about it."""
        return ObjectReference(JOB_TEMPLATES.api_version, "JobTemplate", self.namespace, self.name, self.uid)


def job_template_of(item: api.Object) -> TemplateRecord | None:
    """A JobTemplate."""
    if not isinstance(item, api.JobTemplate):
        return None
    metadata = item.metadata
    return TemplateRecord(
        json_object(item.spec),
        metadata.namespace,
        metadata.name,
        metadata.uid,
        metadata.resource_version,
        item.status or {},
        metadata.deletion_timestamp is not None,
    )


def template_status(template: TemplateRecord, jobs: Iterable[MadeJob]) -> Body | None:
    """The whole status; None where it stays. ``jobs`` are the vcjobs that are there and were made of the template."""
    if template.deleting:
        return None
    newest = sorted(jobs, key=lambda job: (job.created, job.name))[-LISTED_MAX:]
    status = {name: value for name, value in template.status.items() if name != MADE_JOBS}
    if newest:
        status[MADE_JOBS] = [job.name for job in newest]
    return None if status == template.status else status
