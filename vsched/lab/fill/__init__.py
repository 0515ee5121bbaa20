"""The fill test: pods come until a cluster is more than full, none ends, and what does not fit is dropped."""
