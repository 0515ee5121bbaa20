"""``vsched rbac``: the roles that a daemon with these flags needs, as manifests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import click
import yaml

from vsched.daemon.permissions import Right, needed
from vsched.kube.paths import namespace_and_name
from vsched.settings import Settings
from vsched.settings.installed import registry

EPILOG = """\b
Examples:
  vsched rbac | kubectl apply -f -
  vsched rbac --account kube-system/vsched --arbitrate --leader-elect-resource-namespace kube-system
  vsched rbac --scheduler-conf policy.yaml        (with the rights that its source of node usage needs)
"""
API = "rbac.authorization.k8s.io"
Obj = dict[str, Any]


@click.command("rbac", epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.option("--account", default="vsched/vsched", show_default=True, help="service account, as NAMESPACE/NAME")
@click.option("--name", default="vsched", show_default=True, help="name of the roles and their bindings")
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def command(account: str, name: str, flags: tuple[str, ...]) -> None:
    """Print the roles that ``vsched run`` with these FLAGS needs, and their bindings to a service account."""
    namespace, who = namespace_and_name("--account", account)
    subject = {"kind": "ServiceAccount", "name": who, "namespace": namespace}
    click.echo(yaml.safe_dump_all(manifests(_needed(flags, namespace), name, subject), sort_keys=False), nl=False)


def manifests(rights: Iterable[Right], name: str, subject: Obj) -> Iterator[Obj]:
    """A ClusterRole and a Role for each namespace, each followed by its binding."""
    by_namespace: defaultdict[str, list[Right]] = defaultdict(list)
    for right in rights:
        by_namespace[right.namespace].append(right)
    for namespace, found in sorted(by_namespace.items()):
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        reference = {"apiGroup": API, "kind": kind, "name": name}
        yield {"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata, "rules": list(rules_of(found))}
        binding = {"apiVersion": f"{API}/v1", "kind": f"{kind}Binding", "metadata": dict(metadata)}
        yield {**binding, "roleRef": reference, "subjects": [dict(subject)]}


def rules_of(rights: Iterable[Right]) -> Iterator[Obj]:
    """Rules for exactly these rights; resources with the same verbs share a rule."""
    verbs: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)
    for right in rights:
        verbs[right.group, right.name, right.resource].add(right.verb)
    alike: defaultdict[tuple[str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, name, resource), found in sorted(verbs.items()):
        alike[group, name, tuple(sorted(found))].append(resource)
    for (group, name, allowed), resources in alike.items():
        named = {"resourceNames": [name]} if name else {}
        yield {"apiGroups": [group], "resources": resources, **named, "verbs": list(allowed)}


def _needed(flags: tuple[str, ...], namespace: str) -> frozenset[Right]:
    """The rights for flags of ``vsched run``; the Lease is in ``namespace`` where the flags name none."""
    from vsched.cli.run.command import command as run
    from vsched.cli.run.command import options_of
    from vsched.daemon.options import check

    context = run.make_context("vsched run", list(flags))
    chosen = dict(context.params)
    for name in ("kubeconfig", "context", "log_level", "log_format"):
        del chosen[name]
    options = options_of(chosen, chosen.pop("window_ms"))
    check(options)
    return needed(options, _settings(options.policy_file), namespace)


def _settings(policy_file: Any) -> Settings | None:
    from vsched.settings.load import load_file

    return None if policy_file is None else load_file(policy_file, registry())
