"""The plan: what is done in which order. `planner` chooses, by `statistics`; `steps` are what it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.query.plan.access_mode import AccessMode as AccessMode
    from omnigraph.query.plan.access_mode import RecentTables as RecentTables
    from omnigraph.query.plan.access_mode import choose_access_mode as choose_access_mode
    from omnigraph.query.plan.degree_cache import DegreeCache as DegreeCache
    from omnigraph.query.plan.degree_cache import KnownDegrees as KnownDegrees
    from omnigraph.query.plan.degrees import QUANTILES as QUANTILES
    from omnigraph.query.plan.degrees import Degrees as Degrees
    from omnigraph.query.plan.mentions import is_row_count as is_row_count
    from omnigraph.query.plan.mentions import variables_of as variables_of
    from omnigraph.query.plan.planner import make_plan as make_plan
    from omnigraph.query.plan.statistics import Statistics as Statistics
    from omnigraph.query.plan.steps import Absent as Absent
    from omnigraph.query.plan.steps import Close as Close
    from omnigraph.query.plan.steps import Either as Either
    from omnigraph.query.plan.steps import Fan as Fan
    from omnigraph.query.plan.steps import Hop as Hop
    from omnigraph.query.plan.steps import Intersect as Intersect
    from omnigraph.query.plan.steps import Keep as Keep
    from omnigraph.query.plan.steps import Mode as Mode
    from omnigraph.query.plan.steps import Optionally as Optionally
    from omnigraph.query.plan.steps import Plan as Plan
    from omnigraph.query.plan.steps import PlanStep as PlanStep
    from omnigraph.query.plan.steps import ScanNodes as ScanNodes
    from omnigraph.query.plan.steps import Shared as Shared
    from omnigraph.query.plan.steps import Traverse as Traverse
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "access_mode": (
                "AccessMode",
                "RecentTables",
                "choose_access_mode",
            ),
            "degree_cache": (
                "DegreeCache",
                "KnownDegrees",
            ),
            "degrees": (
                "Degrees",
                "QUANTILES",
            ),
            "mentions": (
                "is_row_count",
                "variables_of",
            ),
            "planner": ("make_plan",),
            "statistics": ("Statistics",),
            "steps": (
                "Absent",
                "Close",
                "Either",
                "Fan",
                "Hop",
                "Intersect",
                "Keep",
                "Mode",
                "Optionally",
                "Plan",
                "PlanStep",
                "ScanNodes",
                "Shared",
                "Traverse",
            ),
        },
    )
