"""CEL, the expression language of Kubernetes: compiling, evaluating within limits, and what Kubernetes adds to it."""
