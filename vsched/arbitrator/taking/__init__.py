"""Taking back: which pods of overused namespaces are evicted, so that pods of namespaces that are short fit."""
