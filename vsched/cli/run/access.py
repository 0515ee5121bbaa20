"""The flags of ``vsched run`` for access to its ports."""

from __future__ import annotations

from typing import Any

from vsched.cli.flags.fields import flags_of
from vsched.cli.options import options
from vsched.daemon.access_options import AccessOptions

flag = flags_of(AccessOptions)
access_flags = options(
    flag(
        "--tls-on",
        "ports to serve over TLS if there is a certificate; repeatable. The webhooks always are",
    ),
    flag(
        "--authentication",
        "authentication at --listen-address, which needs TLS; health checks need none",
    ),
    flag("--token-file", 'file of tokens, one per line as in Kubernetes: token,user,uid,"group,group"'),
    flag(
        "--token-audience",
        "audience of tokens, with tokenreview; repeatable  [default: the API server]",
        "token_audiences",
    ),
    flag("--client-ca-file", "CAs of client certificates (CN is the user, O the groups)"),
    flag("--webhook-client-ca-file", "CAs of the certificate that the API server must send to the webhooks"),
    flag(
        "--allow-user",
        "user who may connect; repeatable  [default: all who authenticate; with tokenreview, whom RBAC allows]",
        "allow_users",
    ),
    flag("--allow-group", "group whose members may connect; repeatable", "allow_groups"),
)


def access_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``AccessOptions``, removed from the parsed flags."""
    return {name: flags.pop(name) for name in AccessOptions.__struct_fields__}
