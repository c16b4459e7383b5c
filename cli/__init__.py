"""The `prospects` command."""
