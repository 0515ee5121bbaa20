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
        "ports that are served over TLS where there is a certificate; repeatable. The webhook's is in any case",
    ),
    flag(
        "--authentication",
        "how those who ask at --listen-address are known, which needs TLS; health checks are for everybody",
    ),
    flag("--token-file", 'tokens, one a line as Kubernetes has it: token,user,uid,"group,group"'),
    flag(
        "--token-audience",
        "what tokens have to be meant for, with tokenreview; repeatable  [default: the API server]",
        "token_audiences",
    ),
    flag("--client-ca-file", "authorities whose certificates say who a client is (CN user, O groups)"),
    flag("--webhook-client-ca-file", "authorities of which the API server has to show a certificate"),
    flag(
        "--allow-user",
        "who may ask; repeatable. Where nobody is named: all who are known, or with tokenreview whoever RBAC says",
        "allow_users",
    ),
    flag("--allow-group", "whose members may ask; repeatable", "allow_groups"),
)


def access_of(flags: dict[str, Any]) -> dict[str, Any]:
    """The fields of ``AccessOptions``, removed from the parsed flags."""
    return {name: flags.pop(name) for name in AccessOptions.__struct_fields__}
