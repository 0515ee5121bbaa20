"""``vsched rbac``: the roles that a daemon with these flags needs, as manifests, with the reason of each right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import click
import yaml

from vsched.cli.ask.cluster import ClusterFlags
from vsched.cli.rbac import words
from vsched.daemon.permissions.needs import Right, reasons
from vsched.errors import BadInput
from vsched.kube.client import ApiClient
from vsched.kube.paths import ApiResource, namespace_and_name
from vsched.settings import Settings
from vsched.settings.installed import registry
from vsched.together import together

EPILOG = """\b
Examples:
  vsched rbac | kubectl apply -f -
  vsched rbac --account kube-system/vsched --arbitrate --leader-elect-resource-namespace kube-system
  vsched rbac --scheduler-conf policy.yaml        (with the rights that its source of node usage needs)
  vsched rbac --vcjobs apart                      (of an account that cannot make what vcjobs consist of)
  vsched rbac --vcjobs only --job-namespace team-a --account vsched/vsched-vcjobs
  vsched rbac --check --kubeconfig account.kubeconfig --arbitrate     (which of these rights are missing there)
"""
API = "rbac.authorization.k8s.io"
Obj = dict[str, Any]
Reasons = Mapping[Right, Sequence[str]]


@click.command("rbac", epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.option("--account", default="vsched/vsched", show_default=True, help="service account, as NAMESPACE/NAME")
@click.option("--name", default="vsched", show_default=True, help="name of the roles and their bindings")
@click.option(
    "--check",
    is_flag=True,
    help="print no roles: ask the cluster of the FLAGS which of these rights their account lacks, and say what stops",
)
@click.argument("flags", nargs=-1, type=click.UNPROCESSED)
def command(account: str, name: str, check: bool, flags: tuple[str, ...]) -> None:
    """Print the roles that ``vsched run`` with these FLAGS needs, and their bindings to a service account."""
    namespace, who = namespace_and_name("--account", account)
    subject = {"kind": "ServiceAccount", "name": who, "namespace": namespace}
    cluster, found = _needed(flags, namespace)
    if check:
        _check(cluster, found)
        return
    for manifest in manifests(found, name, subject):
        click.echo(text_of(manifest), nl=False)


# -- roles


def manifests(found: Reasons, name: str, subject: Obj) -> Iterator[Obj]:
    """A ClusterRole and a Role for each namespace, each followed by its binding; rules have reasons as ``why``."""
    by_namespace: defaultdict[str, dict[Right, Sequence[str]]] = defaultdict(dict)
    for right, whys in found.items():
        by_namespace[right.namespace][right] = whys
    for namespace, rights in sorted(by_namespace.items()):
        kind = "Role" if namespace else "ClusterRole"
        metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
        reference = {"apiGroup": API, "kind": kind, "name": name}
        yield {"apiVersion": f"{API}/v1", "kind": kind, "metadata": metadata, "rules": list(rules_of(rights))}
        binding = {"apiVersion": f"{API}/v1", "kind": f"{kind}Binding", "metadata": dict(metadata)}
        yield {**binding, "roleRef": reference, "subjects": [dict(subject)]}


def rules_of(found: Reasons) -> Iterator[Obj]:
    """Rules for exactly these rights; resources with the same verbs for the same reasons share a rule."""
    verbs: defaultdict[tuple[tuple[str, ...], str, str, str], set[str]] = defaultdict(set)
    for right, whys in found.items():
        verbs[tuple(whys), right.group, right.name, right.resource].add(right.verb)
    alike: defaultdict[tuple[tuple[str, ...], str, str, tuple[str, ...]], list[str]] = defaultdict(list)
    for (why, group, name, resource), allowed in sorted(verbs.items()):
        alike[why, group, name, tuple(sorted(allowed))].append(resource)
    for (why, group, name, sorted_verbs), resources in alike.items():
        named = {"resourceNames": [name]} if name else {}
        yield {"why": why, "apiGroups": [group], "resources": resources, **named, "verbs": list(sorted_verbs)}


def text_of(manifest: Obj) -> str:
    """A manifest as YAML, the reasons of its rules as comments above them."""
    rules = manifest.get("rules", ())
    lines = [
        "---\n",
        yaml.safe_dump({key: value for key, value in manifest.items() if key != "rules"}, sort_keys=False),
    ]
    lines += ["rules:\n"] if rules else []
    for rule in rules:
        lines += [f"# {why}\n" for why in rule["why"]]
        lines.append(yaml.safe_dump([{key: value for key, value in rule.items() if key != "why"}], sort_keys=False))
    return "".join(lines)


# -- what is missing


def _check(cluster: ClusterFlags, found: Reasons) -> None:
    """Print each right that the account lacks, and what stops without it; raises BadInput if there are some."""
    from vsched.cli.ask.cluster import with_client

    lacks = with_client(cluster, lambda client: lacking(client, sorted(found)))
    for right in lacks:
        for why in found[right]:
            click.echo(words.is_missing(right, why))
    if lacks:
        raise BadInput(words.some_missing(len(lacks), len(found)))
    click.echo(words.none_missing(len(found)))


def _needed(flags: tuple[str, ...], namespace: str) -> tuple[ClusterFlags, Reasons]:
    """The rights for flags of ``vsched run``; the Lease is in ``namespace`` where the flags name none."""
    from vsched.cli.run.command import command as run
    from vsched.cli.run.command import options_of
    from vsched.daemon.options import check

    context = run.make_context("vsched run", list(flags))
    chosen = dict(context.params)
    cluster = ClusterFlags(chosen.pop("kubeconfig"), chosen.pop("context"))
    for name in ("log_level", "log_format"):
        del chosen[name]
    options = options_of(chosen, chosen.pop("window_ms"))
    check(options)
    return cluster, reasons(options, _settings(options.policy_file), namespace)


def _settings(policy_file: Any) -> Settings | None:
    from vsched.settings.load import load_file

    return None if policy_file is None else load_file(policy_file, registry())


REVIEWS = ApiResource("authorization.k8s.io", "v1", "selfsubjectaccessreviews", namespaced=False)
AT_ONCE = 16


async def lacking(client: ApiClient, rights: Sequence[Right]) -> list[Right]:
    """Those of the rights that the account of this client does not have."""
    found, left = [], iter(rights)
    while some := list(islice(left, AT_ONCE)):
        answers = await together(*(_may(client, right) for right in some))
        found += [right for right, may in zip(some, answers, strict=True) if not may]
    return found


async def _may(client: ApiClient, right: Right) -> bool:
    resource, _, subresource = right.resource.partition("/")
    attributes = {
        "verb": right.verb,
        "group": right.group,
        "resource": resource,
        "subresource": subresource,
        "namespace": right.namespace,
        "name": right.name,
    }
    review = {
        "apiVersion": REVIEWS.api_version,
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = await client.create(REVIEWS.path(), review)
    return bool(answer["status"]["allowed"])
