"""Faults on demand: of the services, answered in front of the emulator, and of the handlers, inside their processes."""
