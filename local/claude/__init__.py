"""A stand-in for Claude: the Messages API over HTTP, answered by a script and a few stated rules. It is no model."""
