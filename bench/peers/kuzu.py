"""The peer Kùzu, as a program."""

from __future__ import annotations

from bench.peers.cypher import Cypher
from bench.peers.harness import main

if __name__ == "__main__":
    main(Cypher("kuzu"))
