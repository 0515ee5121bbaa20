"""Files of YAML: Kubernetes objects, groups of nodes, node pools."""
