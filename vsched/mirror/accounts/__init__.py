"""What each namespace holds and asks for, for arbitration."""
