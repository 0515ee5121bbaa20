"""Devices in a session. ``part`` answers and follows the session's steps; the other modules are its parts.

``needs`` puts together what claims ask for, ``room`` says which nodes have it, ``uses`` keeps who has what, and
``obstacles`` finds claims that nobody can use. The arithmetic is in ``vsched.kernels.devices``.
"""
