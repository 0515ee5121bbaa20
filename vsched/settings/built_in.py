"""The registry of this build: every plugin and action there is, from the rooms' tables of contents."""

from __future__ import annotations

from vsched.actions import ACTIONS
from vsched.framework.registry import Registry
from vsched.plugins import PLUGINS

REGISTRY = Registry.of(PLUGINS, ACTIONS)
"""A value: nothing is added to it later."""
