"""Envelope, guards and the publisher of the Custom Event Bus."""
