"""Uploads and their rows: identities, items and the `prospects` table."""
