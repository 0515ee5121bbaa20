"""What a cluster with Volcano has, and what of it works, differs or is missing with vsched."""
