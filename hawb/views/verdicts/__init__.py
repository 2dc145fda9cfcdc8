"""The verdict of each command that answers a question: one module for a command, named after it.

`verdict` returns yes, no or unknown with a sentence (`hawb.views.report.Verdict`), `todo` what to do about it.
"""
