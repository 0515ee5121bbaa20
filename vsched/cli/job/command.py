"""``vsched job``: the jobs there are, where each stands in the order of its queue, why it waits; running vcjobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, full_name, with_client
from vsched.cli.ask.completing import job_keys, namespaces, queue_names
from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.job import words
from vsched.cli.options import typed_flags
from vsched.cli.show.output import Output, output_flags, say
from vsched.client.target import DaemonTarget
from vsched.errors import VschedError
from vsched.model.pods.status import Phase

if TYPE_CHECKING:
    from vsched.controllers.vcjobs.spec import VcJob

EPILOG = """\b
Examples:
  vsched job list
  vsched job list --waiting --queue research
  vsched job list -n team-a -o wide
  vsched job get team-a/train
  vsched job get train -n team-a -o yaml
  vsched job run -f config/samples/vcjobs/pytorch.yaml
  vsched job run --name sleep --image busybox --replicas 3 --min 2
  vsched job list --vcjobs
  vsched job suspend default/sleep
"""

PHASES = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)
SORTS = ("order", "name", "age", "priority", "phase", "reason", "size")


@click.group("job", cls=SuggestingGroup, epilog=EPILOG)
def command() -> None:
    """Show jobs (PodGroups): phase, counts, position in the order, and why they wait. Run, suspend and resume vcjobs.

    A running daemon is asked; if none answers, the statuses of the PodGroups are shown.
    """


# Each command imports what it needs, so that --help does not load the client.


@command.command("list", short_help="Every job, or every vcjob.", epilog="Example:  vsched job list --waiting -o wide")
@click.option("-n", "--namespace", metavar="NS", shell_complete=namespaces, help="only those of this namespace")
@click.option("-A", "--all-namespaces", is_flag=True, help="those of all namespaces (the default)")
@click.option("--queue", metavar="QUEUE", shell_complete=queue_names, help="only those of this queue")
@click.option("--phase", type=click.Choice(PHASES, case_sensitive=False), help="only those in this phase")
@click.option("--waiting", is_flag=True, help="only those that have not reached their minimum")
@click.option("--vcjobs", is_flag=True, help="list vcjobs (Volcano's Jobs) instead, with those without a PodGroup")
@click.option("--sort", type=click.Choice(SORTS), default="order", show_default=True, help="sort order")
@cluster_flags
@daemon_flags
@output_flags
def list_(
    namespace: str | None,
    all_namespaces: bool,
    queue: str | None,
    phase: str | None,
    waiting: bool,
    vcjobs: bool,
    sort: str,
    cluster: ClusterFlags,
    target: DaemonTarget,
    output: Output,
) -> None:
    """List jobs; waiting ones in the order in which their queue tries them."""
    from vsched.cli.job.source import read_jobs
    from vsched.cli.job.view import as_table, chosen, list_document
    from vsched.clock import SystemClock

    if vcjobs:
        given = {"--phase": phase, "--waiting": waiting}
        for flag in (name for name, value in given.items() if value):
            raise click.UsageError(words.not_with_vcjobs(flag))
        _list_vcjobs(None if all_namespaces else namespace, queue, cluster, output)
        return
    jobs, remark = read_jobs(target, cluster)
    lines = chosen(jobs.lines, None if all_namespaces else namespace, queue, phase, waiting, sort)
    output.show(lambda: list_document(jobs, lines), lambda look: as_table(lines, look, SystemClock().now()))
    _say(remark)


def _list_vcjobs(namespace: str | None, queue: str | None, cluster: ClusterFlags, output: Output) -> None:
    from vsched.cli.job.vcjobs import read_vcjobs
    from vsched.cli.job.vcjobs_view import as_document, as_table
    from vsched.clock import SystemClock

    found = [
        job
        for job in with_client(cluster, read_vcjobs)
        if namespace in (None, job.namespace) and queue in (None, job.queue)
    ]
    output.show(
        lambda: {"vcjobs": [as_document(job) for job in found]},
        lambda look: as_table(found, look, SystemClock().now()),
    )


@command.command("get", short_help="Everything about one job or vcjob.", epilog="Example:  vsched job get team-a/train")
@click.argument("name", metavar="NS/NAME", shell_complete=job_keys)
@click.option(
    "-n", "--namespace", metavar="NS", shell_complete=namespaces, help="namespace of a NAME given without one"
)
@cluster_flags
@daemon_flags
@output_flags
def get(name: str, namespace: str | None, cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """Show everything about one job: a PodGroup, or a vcjob or other owner of its pods by its own name."""
    from vsched.cli.job.source import read_job
    from vsched.cli.job.vcjobs import known_vcjob
    from vsched.cli.job.view import as_page, get_document
    from vsched.client.errors import Unknown
    from vsched.clock import SystemClock
    from vsched.model.jobs.native import keys_named

    key = full_name(name, namespace, cluster)
    problem: Unknown | None = None
    try:
        job, remark = read_job(target, cluster, key)
    except Unknown as error:
        problem = error
    # A name that is not the PodGroup's own may be that of its vcjob, of which more can be shown.
    if problem is not None or job.line.key not in keys_named(key):
        found = known_vcjob(cluster, key)
        if found is not None:
            _show_vcjob(found, cluster, target, output)
            return
    if problem is not None:
        raise problem
    output.show(lambda: get_document(job), lambda look: as_page(job, SystemClock().now(), look))
    _say(remark)


def _show_vcjob(job: VcJob, cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """A vcjob, then its PodGroup, if it has one."""
    from rich.console import Group
    from rich.text import Text

    from vsched.cli.job.source import read_job
    from vsched.cli.job.vcjobs_view import as_document
    from vsched.cli.job.vcjobs_view import as_page as vcjob_page
    from vsched.cli.job.view import as_page, get_document
    from vsched.clock import SystemClock

    now = SystemClock().now()
    try:
        group, remark = read_job(target, cluster, f"{job.namespace}/{job.podgroup}")
    except VschedError:
        output.show(lambda: as_document(job), lambda look: vcjob_page(job, now))
        return
    output.show(
        lambda: as_document(job) | {"group": get_document(group)},
        lambda look: Group(vcjob_page(job, now), Text(), as_page(group, now, look)),
    )
    _say(remark)


@command.command(
    "run",
    short_help="Create a vcjob from a file or from flags.",
    epilog="Example:  vsched job run --name sleep --image busybox --replicas 3 --min 2",
)
@click.option("-f", "--filename", metavar="FILE", help="create the vcjobs of this file; - is standard input")
@click.option("-N", "--name", metavar="NAME", help="create a vcjob of this name with one task")
@click.option("-n", "--namespace", metavar="NS", default="", shell_complete=namespaces, help="namespace of the vcjob")
@click.option("-i", "--image", default="busybox", show_default=True, help="image of its pods")
@click.option("-r", "--replicas", type=click.IntRange(0, 1_000_000), default=1, show_default=True, help="its pods")
@click.option(
    "-m", "--min", "minimum", type=click.IntRange(0, 1_000_000), default=1, show_default=True, help="its minAvailable"
)
@click.option("-R", "--requests", default="cpu=1000m,memory=100Mi", show_default=True, help="requests of each pod")
@click.option("-L", "--limits", default="cpu=1000m,memory=100Mi", show_default=True, help="limits of each pod")
@click.option("-S", "--scheduler", metavar="NAME", default="", help="its schedulerName  [default: vsched]")
@click.option("--queue", metavar="QUEUE", default="", shell_complete=queue_names, help="its queue")
@cluster_flags
@click.pass_context
def run(
    context: click.Context,
    filename: str | None,
    name: str | None,
    namespace: str,
    image: str,
    replicas: int,
    minimum: int,
    requests: str,
    limits: str,
    scheduler: str,
    queue: str,
    cluster: ClusterFlags,
) -> None:
    """Create vcjobs: those of a file, or one with a single task from flags, as vcctl does."""
    from vsched.cli.job.vcjobs import JobFlags, from_file, from_flags, make

    if (filename is None) == (name is None):
        raise click.UsageError("give -f FILE or --name NAME")
    if filename is not None:
        alone = ("filename", "namespace", "kubeconfig", "context")
        given_too = typed_flags()
        typed = [one for one in context.params if one in given_too and one not in alone]
        if typed:
            flags = ", ".join("--min" if one == "minimum" else f"--{one}" for one in typed)
            raise click.UsageError(words.not_with_file(flags))
        wanted = from_file(filename)
    else:
        given = JobFlags(name or "", image, replicas, minimum, requests, limits, scheduler, queue)
        wanted = [from_flags(given)]
    for key in with_client(cluster, lambda client: make(client, wanted, namespace)):
        say(f"vcjob {key} created")


def _commanding(verb: str, action: str, help: str) -> None:
    """Add ``vsched job VERB``, which asks for an action of Volcano's Commands."""

    @command.command(
        verb, short_help=f"{help.partition(':')[0]}.", help=help, epilog=f"Example:  vsched job {verb} team-a/train"
    )
    @click.argument("name", metavar="NS/NAME")
    @click.option(
        "-n", "--namespace", metavar="NS", shell_complete=namespaces, help="namespace of a NAME given without one"
    )
    @click.option(
        "--wait",
        "wait_seconds",
        type=click.FloatRange(0, 1e9),
        default=10.0,
        show_default=True,
        help="seconds to wait until it is done; 0 does not wait",
    )
    @cluster_flags
    def give(name: str, namespace: str | None, wait_seconds: float, cluster: ClusterFlags) -> None:
        from vsched.cli.job.vcjobs import command as ask
        from vsched.controllers.vcjobs.spec import JobAction

        key = full_name(name, namespace, cluster)
        say(with_client(cluster, lambda client: ask(client, key, JobAction(action), wait_seconds)))


_commanding("suspend", "AbortJob", help="Suspend a vcjob: its pods are deleted, the object stays.")
_commanding("resume", "ResumeJob", help="Resume a suspended vcjob: its pods are created again.")


def _say(remark: str) -> None:
    if remark:
        say(f"vsched: {remark}", err=True)
