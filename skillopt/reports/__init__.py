"""Reports: one view of a run, blocks made of it once, and printers for Markdown, HTML and terminals.

What is measured is in the ledger, and texts from elsewhere are made harmless by safety.
"""
