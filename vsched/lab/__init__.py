"""What nobody needs at run time: benches, soaks, traces and the demo."""
