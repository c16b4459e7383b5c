"""What an operator does to an upload: approve, resume, retry, audit, explain failures. Use cases without a surface."""
