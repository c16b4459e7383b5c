"""The naive stacks of the fault matrix: what is commonly built from the documentation, under the same faults as ours.

Both are a queue with its dead-letter queue, a Lambda function and a table of results. The queue's settings, the
function's and the model request are ours wherever both have them. `bare` is the SDKs and the services with their
defaults, `stock` the same behind Powertools' idempotency as it comes. Each is written as well as its documentation
allows: whatever made one look worse than it is would be a defect here.
"""
