"""Builds a ``Connection`` from a kubeconfig or a pod's service account; each error is one line that says what to do.

The order of search is: the file that was named, ``$KUBECONFIG``, ``~/.kube/config``, the service account of the pod.
Exec plugins and auth-providers run through kubernetes_asyncio, which is loaded only if one is configured.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
from yarl import URL

from vsched.errors import BadInput
from vsched.kube.auth.connection import Connection
from vsched.kube.auth.credentials import Credentials, FixedHeaders, Headers, PluginCredentials, TokenFile, basic, bearer
from vsched.kube.auth.kubeconfig import Chosen, Kubeconfig, KubeconfigCluster, KubeconfigEntry, User, choose, read_files
from vsched.kube.auth.tls import Material, client_context
from vsched.kube.errors import one_line
from vsched.kube.words import auth as words

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
IN_CLUSTER = "in-cluster configuration"
"""The source of a connection that is the pod's own."""


def load_connection(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> Connection:
    """The connection to the cluster that the caller names, or to the default one."""
    surroundings = os.environ if environment is None else environment
    config = find_kubeconfig(kubeconfig, surroundings)
    if config is not None:
        return from_kubeconfig(config, context)
    if "KUBERNETES_SERVICE_HOST" in surroundings:
        return in_cluster(surroundings, service_account)
    raise BadInput(words.NO_CLUSTER)


def find_kubeconfig(named: str | Path | None, environment: Mapping[str, str]) -> Kubeconfig | None:
    """The kubeconfig in force, read; None if there is none."""
    if named is not None:
        file = Path(named).expanduser()
        if not file.is_file():
            raise BadInput(words.named_does_not_exist(file))
        return read_files([file])
    listed = [Path(part).expanduser() for part in environment.get("KUBECONFIG", "").split(os.pathsep) if part]
    if listed:
        present = [file for file in listed if file.is_file()]
        if not present:
            missing = ", ".join(map(str, listed))
            raise BadInput(words.does_not_exist(missing))
        return read_files(present)
    home = environment.get("HOME")
    usual = Path(home, ".kube", "config") if home else None
    return read_files([usual]) if usual and usual.is_file() else None


def from_kubeconfig(config: Kubeconfig, context: str | None) -> Connection:
    """The connection that one context of a kubeconfig describes."""
    chosen = choose(config, context)
    cluster = chosen.cluster.value
    server = cluster.server.rstrip("/")
    if "@" in server.split("://")[-1].partition("/")[0]:
        # It would appear wherever the address of the server is shown.
        raise BadInput(words.login_in_address(chosen.where, chosen.context.cluster))
    if not server.startswith(("http://", "https://")):
        raise BadInput(words.no_address(chosen.where, chosen.context.cluster, cluster.server))
    problem = _problem_of(server)
    if problem:
        raise BadInput(words.bad_address(chosen.where, chosen.context.cluster, cluster.server, problem))
    _check_proxy(chosen)
    tls = client_context(chosen.where, _material(chosen)) if server.startswith("https://") else None
    more = _impersonation(chosen.user.value)
    user = chosen.user.value
    credentials: Credentials
    if user.exec is not None or user.auth_provider is not None:
        who = f"{chosen.where}: user {chosen.context.user!r}"
        credentials = PluginCredentials(who, _single_context(chosen), more, tls=tls)
    else:
        credentials = _plain_credentials(chosen, more)
    return Connection(
        server=server,
        tls=tls,
        server_name=cluster.tls_server_name or None,
        proxy=cluster.proxy_url or None,
        credentials=credentials,
        namespace=chosen.context.namespace or "default",
        source=chosen.where,
    )


def _problem_of(address: str) -> str:
    """Why an address cannot be used; empty if it can."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError as error:
        return one_line(str(error))
    if not parts.hostname:
        return words.NO_HOST
    if port == 0:
        return words.PORT_ZERO
    if parts.query or parts.fragment:
        return words.HAS_QUERY
    if not address.isascii() or not address.isprintable() or " " in address:
        return words.LETTERS_NOT_IN_URL
    try:
        URL(address, encoded=True)
    except ValueError as error:
        return one_line(str(error))
    return ""


def _check_proxy(chosen: Chosen) -> None:
    """Raise BadInput for an unusable proxy. Its address may contain a password, so the error does not show it."""
    proxy = chosen.cluster.value.proxy_url
    if not proxy:
        return
    scheme = proxy.partition("://")[0]
    problem = _problem_of(proxy) if scheme in ("http", "https") else words.scheme_not_spoken(scheme[:20])
    if problem:
        raise BadInput(words.bad_proxy(chosen.where, chosen.context.cluster, problem))


def _material(chosen: Chosen) -> Material:
    cluster, user = chosen.cluster, chosen.user
    return Material(
        authority_file=cluster.beside(cluster.value.certificate_authority),
        authority_data=cluster.value.certificate_authority_data,
        certificate_file=user.beside(user.value.client_certificate),
        certificate_data=user.value.client_certificate_data,
        key_file=user.beside(user.value.client_key),
        key_data=user.value.client_key_data,
        verify=not cluster.value.insecure_skip_tls_verify,
    )


def _plain_credentials(chosen: Chosen, more: Headers) -> Credentials:
    user = chosen.user.value
    try:
        file = chosen.user.beside(user.token_file)
        if file is not None:
            return TokenFile(file, more)
        if user.token:
            return FixedHeaders((bearer(user.token.strip()), *more))
    except BadInput as error:
        raise BadInput(f"{chosen.where}: user {chosen.context.user!r}: {error}") from error
    if user.username:
        return FixedHeaders((basic(user.username, user.password), *more))
    return FixedHeaders(more)


def _impersonation(user: User) -> Headers:
    named = (("Impersonate-User", user.act_as), ("Impersonate-Uid", user.as_uid))
    groups = (("Impersonate-Group", group) for group in user.as_groups)
    return tuple((header, value) for header, value in (*named, *groups) if value)


def _single_context(chosen: Chosen) -> dict[str, Any]:
    """The chosen context as a kubeconfig of its own, with paths that hold from anywhere."""
    user = _without_relative_paths(chosen.user, "tokenFile", "client-certificate", "client-key")
    plugin = user.get("exec")
    if plugin and os.sep in str(plugin.get("command", "")):
        # A command with a slash in it is meant relative to the kubeconfig, a bare one is looked up on the PATH.
        user["exec"] = {**plugin, "command": str(chosen.user.beside(str(plugin["command"])))}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "chosen",
        "contexts": [{"name": "chosen", "context": {"cluster": "chosen", "user": "chosen"}}],
        "clusters": [{"name": "chosen", "cluster": _without_relative_paths(chosen.cluster, "certificate-authority")}],
        "users": [{"name": "chosen", "user": user}],
    }


def _without_relative_paths(
    entry: KubeconfigEntry[User] | KubeconfigEntry[KubeconfigCluster], *fields: str
) -> dict[str, Any]:
    content = {key: value for key, value in msgspec.to_builtins(entry.value).items() if value}
    for field in fields:
        if field in content:
            content[field] = str(entry.beside(content[field]))
    return content


def in_cluster(environment: Mapping[str, str], service_account: Path) -> Connection:
    """The connection of a pod's service account; its token is read again as the kubelet rotates it."""
    where = IN_CLUSTER
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise BadInput(words.no_service(where))
    try:
        credentials = TokenFile(service_account / "token")
    except BadInput as error:
        raise BadInput(words.no_token_mounted(where, error)) from error
    try:
        namespace = (service_account / "namespace").read_text(encoding="utf-8").strip()
    except OSError:
        namespace = ""
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=client_context(where, Material(authority_file=service_account / "ca.crt")),
        credentials=credentials,
        namespace=namespace or "default",
        source=where,
    )
