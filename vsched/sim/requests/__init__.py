"""What a request asks for, and what it is answered."""
