"""What MiniStack drops or does otherwise than AWS, put right from outside: one file for each, no fork."""
