"""What ``vsched migrate check`` says: of each thing that it finds, and where vsched differs from Volcano."""
