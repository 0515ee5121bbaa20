"""The objects of a vcjob besides pods and the PodGroup: those of its plugins, and its claims."""

from __future__ import annotations

from vsched.controllers.vcjobs.naming import Body, spec_of
from vsched.controllers.vcjobs.plugins import KeyPair, plugins_of
from vsched.controllers.vcjobs.plugins.svc import Svc, hosts_map
from vsched.controllers.vcjobs.spec import VcJob
from vsched.controllers.vcjobs.volumes import claims_of, controlled_volumes


def objects_of(job: VcJob, keys: KeyPair | None = None) -> list[Body]:
    """What has to be there before any pod, to be created by name; ``keys`` are needed where ``needs_keys`` says so."""
    return [*claims_of(job), *plugin_objects(job, keys)]


def plugin_objects(job: VcJob, keys: KeyPair | None) -> list[Body]:
    """The objects of plugins. They go when the job is killed; claims stay as long as the job."""
    return [body for plugin in plugins_of(job) for body in plugin.objects(job, keys)]


def names_of_plugin_objects(job: VcJob) -> list[tuple[str, str]]:
    """Kind and name of the objects of plugins, for their deletion."""
    return [(body["kind"], body["metadata"]["name"]) for body in plugin_objects(job, KeyPair("", ""))]


def following_objects(job: VcJob) -> list[Body]:
    """Those among the objects of plugins whose data follow the job: to be updated where they differ."""
    return [hosts_map(job) for plugin in plugins_of(job) if isinstance(plugin, Svc)]


def content_key(job: VcJob) -> tuple[object, ...]:
    """What names and data of all these objects follow from while the job is the same, without making them."""
    templates = ((task, spec_of(task)) for task in job.tasks)
    hosts = ((task.name, task.replicas, spec.get("hostname"), spec.get("subdomain")) for task, spec in templates)
    return (*controlled_resources(job), *hosts)


def controlled_resources(job: VcJob) -> dict[str, str]:
    """``status.controlledResources`` once all of them are there."""
    plugins = {f"plugin-{plugin.name}": plugin.name for plugin in plugins_of(job) if plugin.tracked}
    return plugins | controlled_volumes(job)
