"""Vcjobs on paper: the PodGroup, the claims and the pods that the controller of vcjobs would make of one. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from vsched import api
from vsched.api.manifests import Origin, made_up_uid, without_nulls
from vsched.api.resources import VCJOB
from vsched.cli.plan.told import MOST_PODS
from vsched.cli.plan.words import objects as words
from vsched.controllers.vcjobs.podgroup import podgroup_of
from vsched.controllers.vcjobs.pods import pod_of
from vsched.controllers.vcjobs.read import job_of
from vsched.controllers.vcjobs.stages import gang_of, startable
from vsched.controllers.vcjobs.view import VcjobView
from vsched.controllers.vcjobs.volumes import claims_of
from vsched.errors import BadInput
from vsched.framework.words.lists import counted

Manifest = dict[str, Any]


def expanded(origin: Origin, manifest: Manifest, priorities: Mapping[str, int]) -> tuple[list[Manifest], str]:
    """What is made of a vcjob, and what has to be said of it; raises BadInput where it could not be run.

    Tasks that depend on others have no pods yet, as in a cluster.
    """
    given = manifest.get("metadata")
    given = given if isinstance(given, dict) else {}
    metadata = {"namespace": "default", **{key: value for key, value in given.items() if value is not None}}
    name = metadata.get("name") or metadata.get("generateName")
    metadata = {**metadata, "name": name, "uid": made_up_uid(VCJOB, str(metadata["namespace"]), str(name))}
    item = api.decode(VCJOB, msgspec.json.encode(without_nulls({**manifest, "metadata": metadata, "status": {}})))
    assert isinstance(item, api.VolcanoJob)
    job = job_of(item)
    if job.refusals:
        raise BadInput(f"{origin}: Job {name}: {'; '.join(job.refusals)}")
    if job.replicas > MOST_PODS:
        raise BadInput(words.too_many_pods(f"{origin}: Job {name}", job.replicas, MOST_PODS))
    tasks = startable(job, ())
    waiting = [task.name for task in job.tasks if task not in tasks]
    made = [podgroup_of(gang_of(VcjobView(job, {})), priorities), *claims_of(job)]
    made += [pod_of(job, task, index) for task in tasks for index in range(task.replicas)]
    later = words.tasks_without_pods(counted(len(waiting), "task", "tasks"), ", ".join(waiting))
    return [_identified(each) for each in made], later if waiting else ""


def _identified(body: Manifest) -> Manifest:
    metadata = body["metadata"]
    uid = made_up_uid(body["kind"], metadata["namespace"], metadata["name"])
    return {**body, "metadata": {**metadata, "uid": uid}}
