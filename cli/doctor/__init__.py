"""`prospects doctor`: what a first deployment must check because documentation leaves it open."""
