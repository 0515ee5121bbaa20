"""The controllers of vcjobs: at work in this process, or with their eyes alone where another one runs vcjobs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from vsched.api.resources import VCJOB
from vsched.clock import Clock
from vsched.controllers.flows.controller import MakerController, MakerSettings
from vsched.controllers.flows.prober import ProbeSettings
from vsched.controllers.vcjobs.controller import JobController, JobControllerSettings
from vsched.controllers.vcjobs.rivals import RivalSettings
from vsched.daemon.options import Options, networks_of
from vsched.kube.client import ApiClient
from vsched.writes.events import EventRecorder
from vsched.writes.writer import Writer

FOLLOWED_APART = frozenset({VCJOB, "Pod"})
"""What is followed of vcjobs where another process runs them: enough to say why one waits, and whether Volcano runs."""
Worry = Callable[..., None]
"""Logs a warning: a sentence, and fields."""


def job_controllers(
    options: Options,
    client: ApiClient,
    writer: Writer,
    events: EventRecorder,
    clock: Clock,
    worry: Worry,
    makers: MakerSettings | None,
) -> tuple[JobController, MakerController]:
    """What runs vcjobs, and what makes them of CronJobs and JobFlows."""
    namespaces = frozenset(options.job_namespaces)
    settings = JobControllerSettings(rivals=RivalSettings(options.volcano_namespace), namespaces=namespaces)
    jobs = JobController(client, writer, events, options.scheduler_names, clock, worry, settings)
    makers = makers or MakerSettings(probes=ProbeSettings(networks=networks_of(options)))
    makers = msgspec.structs.replace(makers, namespaces=namespaces)
    made = MakerController(client, writer, events, clock, jobs.rivals.look_first, jobs.pods, makers)
    jobs.on_hands.add(made.look_at_all)
    return jobs, made


def followed_jobs(
    options: Options, client: ApiClient, writer: Writer, events: EventRecorder, clock: Clock, worry: Worry
) -> JobController:
    """A controller that is never run: it is told of vcjobs, and says what it knows of them."""
    rivals = RivalSettings(options.volcano_namespace, reads_lease=False)
    settings = JobControllerSettings(rivals=rivals, namespaces=frozenset(options.job_namespaces))
    return JobController(client, writer, events, options.scheduler_names, clock, worry, settings)
