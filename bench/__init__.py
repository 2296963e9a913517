"""Benchmarks: `make bench`, or one of them with `python -m bench.<name>`. Figures and what they mean: RESULTS.md."""
