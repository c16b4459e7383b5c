"""The ways to call the refund tool: each translates what its caller sends, and decides nothing about a refund."""
