"""The task, the Claude call and the worker that guards it."""
