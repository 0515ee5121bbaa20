"""The fields of the built-in API types as data: a text file for each API package, read by ``meta.schema``.

A type is a line without indent: its name, then facts about it as a whole. Its fields follow, indented:

    <protobuf number, or - > <name> <type> <facts>

The type is a scalar (string, int32, quantity, time...), a type of the same package, or ``package/version.Type`` of
another; ``[]`` before it makes a list, ``{}`` a map from strings. After it ``?`` says that an explicit zero differs
from nothing (a pointer in Go), ``!`` that the field is required, ``~`` that a list is wrapped in a message of its own,
``=`` that the field is always written (a struct rather than a pointer in Go, so nothing reads as empty).
A field called ``*`` has no name in JSON: the fields of its type stand in its place.

Facts: ``merge=key`` (a strategic merge patch merges the list by that key; ``merge`` alone merges a list of plain
values), ``retain`` (it may retain keys), ``replace`` (it replaces), ``keys=a,b`` (server-side apply tells the items
apart by these), ``set`` (by value), ``atomic`` (it owns the value as a whole), ``go=type`` (what Go calls the type of a
plain string or map; only error messages say so).
"""
