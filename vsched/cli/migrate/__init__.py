"""``vsched migrate``: what it takes to change from another scheduler to vsched."""
