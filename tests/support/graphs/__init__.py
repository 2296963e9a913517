"""Small graphs to test on, ways to fill their tables directly, and the self-check of a writer."""
