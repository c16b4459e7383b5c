"""The Lambda functions of the refund tool: their wiring, and nothing else."""
