"""``vsched migrate`` as commands."""

from __future__ import annotations

from pathlib import Path

import click

from vsched.cli.ask.cluster import USUAL_CLUSTER, ClusterFlags, cluster_flags
from vsched.cli.flags.suggesting import SuggestingGroup
from vsched.cli.migrate import words
from vsched.cli.show.output import Output, output_flags_of
from vsched.errors import BadInput
from vsched.printable import printable

CHECK_EPILOG = """\b
Examples:
  vsched migrate check --context production
  vsched migrate check --context production -n volcano -o json | jq .counts
"""
QUEUES_EPILOG = """\b
Examples:
  vsched migrate queues kueue.yaml > queues.yaml     (read the comments, then kubectl apply -f queues.yaml)
  vsched migrate queues --context production         (reads the cluster)
  kubectl get clusterqueues,cohorts,resourceflavors,localqueues -A -o yaml | vsched migrate queues -
"""


@click.group("migrate", cls=SuggestingGroup)
def command() -> None:
    """Migrate from another scheduler to vsched. Nothing is written to a cluster."""


@command.command("check", short_help="Check what of a cluster with Volcano works with vsched.", epilog=CHECK_EPILOG)
@cluster_flags
@click.option("-n", "--namespace", default="volcano-system", show_default=True, help="namespace of Volcano")
@output_flags_of("text", "json", "yaml")
def check(cluster: ClusterFlags, namespace: str, output: Output) -> None:
    """Check what of a cluster with Volcano works with vsched, what differs, and what is missing.

    Reads Volcano's Deployments, flags, policy and webhooks, queues, PodGroups, jobs, pods, annotations and labels, and
    ends with the commands to migrate and to go back. Exits 1 if something is missing or cannot be read.
    """
    from msgspec import to_builtins

    from vsched.cli.migrate.check.read import read_cluster
    from vsched.cli.migrate.check.report import report_of
    from vsched.cli.migrate.check.view import shown_page
    from vsched.settings.installed import registry

    report = report_of(read_cluster(cluster, namespace), namespace, cluster, registry())
    output.show(lambda: to_builtins(report), shown_page(report))
    if not report.complete:
        raise click.exceptions.Exit(1)


@command.command("queues", epilog=QUEUES_EPILOG)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@cluster_flags
def queues(files: tuple[Path, ...], cluster: ClusterFlags) -> None:
    """Convert queues of Kueue and KAI to Volcano Queues, in YAML.

    Reads FILES (``-`` for stdin), or without any the cluster: ClusterQueues, Cohorts, ResourceFlavors and LocalQueues
    of Kueue, Queues of KAI. Comments name every field that cannot be converted.
    """
    from vsched.cli.migrate.queues.convert import converted_text
    from vsched.cli.migrate.queues.read import of_cluster, of_files

    if files and cluster != USUAL_CLUSTER:
        raise BadInput(words.FILES_AND_CLUSTER)
    objects = of_files(files) if files else of_cluster(cluster)
    click.echo(printable(converted_text(objects)), nl=False)
