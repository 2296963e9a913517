"""Metrics: what the process did, as Prometheus text. Labels are operations and statuses, never actors or names."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
METRICS_MEDIA = b"text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Counters and one histogram of durations per operation."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets: Counter[tuple[str, int]] = Counter()
        """Requests by the place of the smallest bound that they kept, each in one bucket."""
        self._seconds: Counter[str] = Counter()
        self._decisions: Counter[tuple[str, bool]] = Counter()
        self._gone = 0

    def request(self, operation: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[operation, status] += 1
            self._seconds[operation] += seconds  # type: ignore[assignment]
            self._buckets[operation, bisect_left(BUCKETS, seconds)] += 1

    def decision(self, action: str, allowed: bool) -> None:
        with self._lock:
            self._decisions[action, allowed] += 1

    def client_gone(self) -> None:
        with self._lock:
            self._gone += 1

    def text(self, gauges: Mapping[str, float]) -> str:
        """The whole page; `gauges` are the numbers of now."""
        with self._lock:
            lines = [*self._request_lines(), *self._decision_lines()]
            lines += _counter("omnigraph_clients_gone_total", "Clients that left before their answer.", self._gone)
        for name, value in sorted(gauges.items()):
            lines += [f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join(lines) + "\n"

    def _request_lines(self) -> list[str]:
        lines = ["# TYPE omnigraph_requests_total counter"]
        counts: Counter[str] = Counter()
        for (operation, status), count in sorted(self._requests.items()):
            counts[operation] += count
            lines.append(f'omnigraph_requests_total{{operation="{operation}",status="{status}"}} {count}')
        name = "omnigraph_request_seconds"
        lines.append(f"# TYPE {name} histogram")
        for operation, count in sorted(counts.items()):
            within = 0
            for place, bound in enumerate(BUCKETS):
                within += self._buckets[operation, place]
                lines.append(f'{name}_bucket{{operation="{operation}",le="{bound:g}"}} {within}')
            lines.append(f'{name}_bucket{{operation="{operation}",le="+Inf"}} {count}')
            lines.append(f'{name}_sum{{operation="{operation}"}} {self._seconds[operation]:.6f}')
            lines.append(f'{name}_count{{operation="{operation}"}} {count}')
        return lines

    def _decision_lines(self) -> list[str]:
        lines = ["# TYPE omnigraph_policy_decisions_total counter"]
        for (action, allowed), count in sorted(self._decisions.items()):
            said = "allow" if allowed else "deny"
            lines.append(f'omnigraph_policy_decisions_total{{action="{action}",decision="{said}"}} {count}')
        return lines


def _counter(name: str, about: str, value: int) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} counter", f"{name} {value}"]
