"""What a daemon's account may do, and why: ``requests`` is the table of requests, ``needs`` that of rights."""
