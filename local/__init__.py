"""The local cloud: an emulator on 127.0.0.1 that runs the synthesized stacks and the real handlers."""
