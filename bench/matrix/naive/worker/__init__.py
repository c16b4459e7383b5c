"""What the naive stacks ship to Lambda. It knows nothing of the effect core, of the matrix or of its faults."""
