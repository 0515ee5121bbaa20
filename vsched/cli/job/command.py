"""``vsched job``: the jobs there are, where each stands in the order of its queue, and why it waits."""

from __future__ import annotations

import click

from vsched.cli.ask.cluster import ClusterFlags, cluster_flags, full_name
from vsched.cli.ask.completing import job_keys, namespaces, queue_names
from vsched.cli.ask.daemon import daemon_flags
from vsched.cli.ask.target import DaemonTarget
from vsched.cli.show.output import Output, output_flags, say
from vsched.model.pods.status import Phase

EPILOG = """\b
Examples:
  vsched job list
  vsched job list --waiting --queue research
  vsched job list -n team-a -o wide
  vsched job get team-a/train
  vsched job get train -n team-a -o yaml
"""

PHASES = (Phase.PENDING, Phase.INQUEUE, Phase.RUNNING, Phase.UNKNOWN, Phase.COMPLETED)
SORTS = ("order", "name", "age", "priority", "phase", "reason", "size")


@click.group("job", epilog=EPILOG)
def command() -> None:
    """Show jobs (PodGroups): phase, counts, position in the order, and why they wait.

    A running daemon is asked; where none answers, the PodGroups themselves tell what was written on them.
    """


# Each command imports what it needs, so that --help does not load the client.


@command.command("list", epilog="Example:  vsched job list --waiting -o wide")
@click.option("-n", "--namespace", metavar="NS", shell_complete=namespaces, help="only those of this namespace")
@click.option("-A", "--all-namespaces", is_flag=True, help="those of all namespaces, as without -n")
@click.option("--queue", metavar="QUEUE", shell_complete=queue_names, help="only those of this queue")
@click.option("--phase", type=click.Choice(PHASES, case_sensitive=False), help="only those in this phase")
@click.option("--waiting", is_flag=True, help="only those that wait for their minimum")
@click.option("--sort", type=click.Choice(SORTS), default="order", show_default=True, help="in which order")
@cluster_flags
@daemon_flags
@output_flags
def list_(
    namespace: str | None,
    all_namespaces: bool,
    queue: str | None,
    phase: str | None,
    waiting: bool,
    sort: str,
    cluster: ClusterFlags,
    target: DaemonTarget,
    output: Output,
) -> None:
    """Every job, those that wait in the order in which their queue tries them."""
    from vsched.cli.job.source import read_jobs
    from vsched.cli.job.view import as_table, chosen, list_document
    from vsched.clock import SystemClock

    jobs, remark = read_jobs(target, cluster)
    lines = chosen(jobs.lines, None if all_namespaces else namespace, queue, phase, waiting, sort)
    output.show(lambda: list_document(jobs, lines), lambda look: as_table(lines, look, SystemClock().now()))
    _say(remark)


@command.command("get", epilog="Example:  vsched job get team-a/train")
@click.argument("name", metavar="NS/NAME", shell_complete=job_keys)
@click.option("-n", "--namespace", metavar="NS", shell_complete=namespaces, help="where it is, for a name alone")
@cluster_flags
@daemon_flags
@output_flags
def get(name: str, namespace: str | None, cluster: ClusterFlags, target: DaemonTarget, output: Output) -> None:
    """Everything about one job."""
    from vsched.cli.job.source import read_job
    from vsched.cli.job.view import as_page, get_document
    from vsched.clock import SystemClock

    job, remark = read_job(target, cluster, full_name(name, namespace, cluster))
    output.show(lambda: get_document(job), lambda look: as_page(job, SystemClock().now(), look))
    _say(remark)


def _say(remark: str) -> None:
    if remark:
        say(f"vsched: {remark}", err=True)
