"""What kinds of other projects take: the part of their definitions that the chart uses, strict about the rest."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}
DURATION: Schema = {
    "type": "string",
    "pattern": "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
}


def strict(required: str = "", **properties: Schema) -> Schema:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required.split(),
    }


def kind(spec: Schema) -> Schema:
    """An object with this spec."""
    metadata = strict("name namespace labels", name=TEXT, namespace=TEXT, labels=LABELS, annotations=LABELS)
    return strict("apiVersion kind metadata spec", apiVersion=TEXT, kind=TEXT, metadata=metadata, spec=spec)


_ENDPOINT = strict(
    "port",
    port=TEXT,
    path=TEXT,
    interval=DURATION,
    scrapeTimeout=DURATION,
    scheme={"enum": ["http", "https"]},
    tlsConfig={"type": "object"},
)
_RULE = strict("alert expr", alert=TEXT, expr=TEXT, labels=LABELS, annotations=LABELS, **{"for": DURATION})
_GROUP = strict("name rules", name=TEXT, rules={"type": "array", "items": _RULE, "minItems": 1})

SCHEMAS: dict[tuple[str, str], Schema] = {
    ("monitoring.coreos.com/v1", "ServiceMonitor"): kind(
        strict(
            "selector endpoints",
            selector=strict("matchLabels", matchLabels=LABELS),
            endpoints={"type": "array", "items": _ENDPOINT, "minItems": 1},
        )
    ),
    ("monitoring.coreos.com/v1", "PrometheusRule"): kind(strict("groups", groups={"type": "array", "items": _GROUP})),
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): kind(
        strict(
            "parentRefs rules",
            parentRefs={"type": "array", "items": {"type": "object", "required": ["name"]}, "minItems": 1},
            hostnames=TEXTS,
            rules={
                "type": "array",
                "items": strict("backendRefs", matches={"type": "array"}, backendRefs={"type": "array"}),
            },
        )
    ),
    ("cert-manager.io/v1", "Certificate"): kind(
        strict(
            "secretName issuerRef",
            secretName=TEXT,
            dnsNames=TEXTS,
            usages={"type": "array", "items": {"enum": ["digital signature", "key encipherment", "server auth"]}},
            duration={"type": "string", "pattern": "^[0-9]+h$"},
            privateKey=strict(
                algorithm={"enum": ["RSA", "ECDSA", "Ed25519"]},
                size={"type": "integer"},
                rotationPolicy={"enum": ["Never", "Always"]},
            ),
            issuerRef=strict("name", name=TEXT, kind=TEXT, group=TEXT),
        )
    ),
}
"""By apiVersion and kind."""
