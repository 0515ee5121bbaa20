"""The library that compiles and executes CEL, loaded when first needed; by a daemon, at its start."""

from __future__ import annotations

import sys
from functools import cache
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType

from vsched.cel import words

_MODULE = "cel.cel"


@cache
def library() -> ModuleType:
    """The compiled part of the library. The package itself loads a command line, too: a second, and 20 MB."""
    package = find_spec("cel")
    spec = None if package is None else PathFinder.find_spec(_MODULE, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError(words.library_missing(_MODULE))
    module = sys.modules[_MODULE] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
