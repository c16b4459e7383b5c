"""The refund experiment: a tool that does its work, then fails, then is run again, by real retry sources.

Asked and answered: how many side effects does one approved action have? Four ways of failing (`injections`) meet five
tools (`variants`): three as commonly built, the third of them once more with a changed amount, and ours. The design and
the predictions are those of the article "An AI agent's tool did the work, then failed, then ran again: where to stop
the second run on AWS", which predicted the answers from documentation and measured none.
"""
