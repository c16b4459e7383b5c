"""What the experiment ships to Lambda: the naive tools, ours with its crash points armed, and their faults."""
