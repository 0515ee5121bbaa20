"""The registry of this build: all its plugins and actions, from the lists of their packages."""

from __future__ import annotations

from vsched.actions import ACTIONS
from vsched.framework.registry import Registry
from vsched.plugins import PLUGINS

REGISTRY = Registry.of(PLUGINS, ACTIONS)
"""A value: nothing is added to it later."""
