"""A cluster whose GPUs two jobs of two queues hold, all but one."""

from __future__ import annotations

HELD = """
node n1 cpu=8 memory=16Gi nvidia=4
node n2 cpu=8 memory=16Gi nvidia=4
queue research
job ns/a min=2 queue=research phase=Running
pods ns/a 2 cpu=1 nvidia=2 on=n1
job ns/b min=1 phase=Running
pods ns/b 1 cpu=3 nvidia=3 on=n2
"""
