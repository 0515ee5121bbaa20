"""The custom resource definitions the embedded cluster has from its start, one YAML file for each."""
