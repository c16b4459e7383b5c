"""What ships to Lambda: one folder per capability."""
