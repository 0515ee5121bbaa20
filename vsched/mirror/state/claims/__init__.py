"""What pods can claim, as watched and as assumed: volumes, devices, and who uses them."""
