"""How to connect to an API server: kubeconfig files, TLS and credentials."""
