"""The wire: the JSON shapes of requests, answers and errors, in the order of the contract."""
