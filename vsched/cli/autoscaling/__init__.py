"""``vsched autoscaling``: nodes that are asked for, and room that autoscalers keep ready."""
