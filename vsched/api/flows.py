"""The fields that vsched reads of what makes vcjobs: Volcano's CronJob, JobFlow and JobTemplate."""

from __future__ import annotations

from typing import Any

import msgspec

from vsched.api.base import NO_BYTES, ApiObject, Raw, Wire


class VcJobTemplate(Wire):
    """The vcjob that a CronJob makes."""

    metadata: Raw = NO_BYTES
    spec: Raw = NO_BYTES


class VolcanoCronJobSpec(Wire):
    """The spec of a CronJob of Volcano."""

    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: int | None = None
    concurrency_policy: str | None = None
    suspend: bool | None = None
    successful_jobs_history_limit: int | None = None
    failed_jobs_history_limit: int | None = None
    job_template: VcJobTemplate = msgspec.field(default_factory=VcJobTemplate)


class VolcanoCronJob(ApiObject):
    """batch.volcano.sh/v1alpha1 CronJob."""

    spec: VolcanoCronJobSpec = msgspec.field(default_factory=VolcanoCronJobSpec)
    status: dict[str, Any] | None = None


class HttpHeader(Wire):
    """A header of a request."""

    name: str = ""
    value: str = ""


class HttpProbe(Wire):
    """Pods of a task have to answer this request."""

    task_name: str = ""
    path: str = ""
    port: int = 0
    http_header: HttpHeader | None = None


class TcpProbe(Wire):
    """Pods of a task have to listen."""

    task_name: str = ""
    port: int = 0


class TaskStatusProbe(Wire):
    """Pods of a task have to be in a phase."""

    task_name: str = ""
    phase: str = ""


class FlowProbe(Wire):
    """What has to hold of the vcjobs that a flow depends on."""

    http_get_list: list[HttpProbe] | None = None
    tcp_socket_list: list[TcpProbe] | None = None
    task_status_list: list[TaskStatusProbe] | None = None


class FlowDependency(Wire):
    """The flows that have to come first."""

    targets: list[str] | None = None
    probe: FlowProbe | None = None


class FlowPatch(Wire):
    """What differs from the template."""

    job_spec: Raw = NO_BYTES


class Flow(Wire):
    """A vcjob of a JobFlow."""

    name: str = ""
    depends_on: FlowDependency | None = None
    patch: FlowPatch | None = None


class JobFlowSpec(Wire):
    """The spec of a JobFlow."""

    flows: list[Flow] | None = None
    job_retain_policy: str = ""


class JobFlow(ApiObject):
    """flow.volcano.sh/v1alpha1 JobFlow."""

    spec: JobFlowSpec = msgspec.field(default_factory=JobFlowSpec)
    status: dict[str, Any] | None = None


class JobTemplate(ApiObject):
    """flow.volcano.sh/v1alpha1 JobTemplate."""

    spec: Raw = NO_BYTES
    status: dict[str, Any] | None = None
