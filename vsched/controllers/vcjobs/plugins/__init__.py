"""The plugins of vcjobs (``spec.plugins``): what each adds to the pods, and the objects that it needs.

Arguments, names, ports and variables are those of Volcano. Plugins work in the order of this table, ``hcclrank`` last,
because it reads the rank that another one has given. ``PULLED_IN`` says which need others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from vsched.controllers.vcjobs import words
from vsched.controllers.vcjobs.plugins.base import JobPlugin, KeyPair
from vsched.controllers.vcjobs.plugins.env import Env
from vsched.controllers.vcjobs.plugins.hcclrank import HcclRank
from vsched.controllers.vcjobs.plugins.mpi import Mpi
from vsched.controllers.vcjobs.plugins.pytorch import Pytorch
from vsched.controllers.vcjobs.plugins.ray import Ray
from vsched.controllers.vcjobs.plugins.ssh import Ssh
from vsched.controllers.vcjobs.plugins.svc import Svc
from vsched.controllers.vcjobs.plugins.tensorflow import Tensorflow
from vsched.controllers.vcjobs.spec import VcJob

PLUGINS: dict[str, type[JobPlugin]] = {
    plugin.name: plugin for plugin in (Env, Svc, Ssh, Pytorch, Mpi, Tensorflow, Ray, HcclRank)
}
PULLED_IN: dict[str, tuple[str, ...]] = {
    "tensorflow": ("svc",),
    "mpi": ("svc", "ssh"),
    "pytorch": ("svc",),
    "ray": ("svc",),
}
"""The plugins that are used as well, without arguments, where a job does not name them."""


def with_pulled_in(plugins: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The plugins of a job by name, with those that they need."""
    found = {name: tuple(arguments) for name, arguments in plugins.items()}
    for name in tuple(found):
        for needed in PULLED_IN.get(name, ()):
            found.setdefault(needed, ())
    return found


def plugins_of(job: VcJob) -> list[JobPlugin]:
    """The plugins of a job with their arguments, in their order."""
    return [plugin for plugin, _ in _parsed(job)]


def plugin_problems(job: VcJob) -> list[str]:
    """Arguments that are passed over, and why plugins cannot do their work, as one line each."""
    found = [words.no_plugin(name, ", ".join(PLUGINS)) for name in _unknown(job)]
    for plugin, problems in _parsed(job):
        found += [*problems, *plugin.problems(job)]
    return found


def needs_keys(job: VcJob) -> bool:
    """Whether a new key pair is to be made for the job."""
    return any(isinstance(plugin, Ssh) and plugin.given is None for plugin in plugins_of(job))


def _parsed(job: VcJob) -> list[tuple[JobPlugin, list[str]]]:
    used = with_pulled_in(dict(job.plugins))
    return [_parse(name, used[name]) for name in PLUGINS if name in used]


@lru_cache(maxsize=256)  # asked for each pod of a job
def _parse(name: str, arguments: tuple[str, ...]) -> tuple[JobPlugin, list[str]]:
    return PLUGINS[name].parse(arguments)


def _unknown(job: VcJob) -> list[str]:
    return [name for name, _ in job.plugins if name not in PLUGINS]


__all__ = ["PLUGINS", "PULLED_IN", "KeyPair", "needs_keys", "plugin_problems", "plugins_of", "with_pulled_in"]
