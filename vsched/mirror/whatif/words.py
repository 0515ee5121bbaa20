"""What is said of what-if edits that cannot be made."""

from __future__ import annotations

# -- situation ---------------------------------------------------------------------------------------------------------


def no_argument(plugin: str, argument: str) -> str:
    return f"plugin {plugin}: has no argument {argument}"


def plugin_not_used(plugin: str) -> str:
    return f"plugin {plugin}: the policy does not use it"
