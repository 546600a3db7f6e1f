"""Answers questions of a build about requirements: ``python -m edgerun.requirements``.

A question is a JSON object on standard input, the answer one on standard output. PEP 440 and PEP 508 are read by
the ``packaging`` library, which comes with every pip.
"""
