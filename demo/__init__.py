"""The demonstration behind `make demo`: a graph of the Python packages of this very environment."""
