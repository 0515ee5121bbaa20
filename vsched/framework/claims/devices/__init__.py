"""Devices in a session. ``handler`` answers and follows the session's steps, with the help of the other modules.

``resolving`` finds the claims of a task, ``needs`` puts together what they ask for, ``room`` says which nodes have it,
``uses`` follows who has what, and ``obstacles`` finds claims that nobody can use. The arithmetic is in
``vsched.kernels.devices``.
"""
