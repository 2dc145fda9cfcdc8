"""The verdict of each command that answers a question: a module for each command, with the command's name.

`verdict` returns yes, no, yes with a but, or unknown, with a sentence (`hawb.views.report.Verdict`); `todo` returns
what to do about it.
"""
