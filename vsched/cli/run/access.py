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
        help="ports to serve over TLS if there is a certificate; repeatable. The webhooks always are",
    ),
    flag(
        "--authentication",
        help="authentication at --listen-address, which needs TLS; health checks need none",
    ),
    flag("--token-file", help='file of tokens, one per line as in Kubernetes: token,user,uid,"group,group"'),
    flag(
        "--token-audience",
        "token_audiences",
        help="audience of tokens, with tokenreview; repeatable  [default: the API server]",
    ),
    flag("--client-ca-file", help="CAs of client certificates (CN is the user, O the groups)"),
    flag("--webhook-client-ca-file", help="CAs of the certificate that the API server must send to the webhooks"),
    flag(
        "--allow-user",
        "allow_users",
        help="user who may connect; repeatable  [default: all who authenticate; with tokenreview, whom RBAC allows]",
    ),
    flag("--allow-group", "allow_groups", help="group whose members may connect; repeatable"),
)


def access_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``AccessOptions``, removed from the parsed flags."""
    return {name: flags.pop(name) for name in AccessOptions.__struct_fields__}
