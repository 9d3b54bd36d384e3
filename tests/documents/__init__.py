"""Documents as tests: Python programs in Markdown pages and samples with claims of what PyTorch and gradpath do.

`tests/cases/README.md` explains the grammar. `grammar` reads the claims of one program, `pages` finds the programs of a
document, `pytorch` runs one, `judgement` compares claims with what happened, `fixes` with what a fix produces.
"""
