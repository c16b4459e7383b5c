"""Infrastructure: one file per stack, and the construct every consumer is made with."""

from stacks.node import use_supported_node

# Before anything here imports aws_cdk: jsii starts its Node process at import.
use_supported_node()
