"""What controllers make of workloads: Deployments, StatefulSets, DaemonSets and Jobs."""
