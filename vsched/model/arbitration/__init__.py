"""What the arbitrator divides and among whom."""
