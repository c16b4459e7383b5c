"""The fault matrix on the local cloud: ours and the naive stacks under the same faults."""
