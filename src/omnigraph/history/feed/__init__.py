"""The change feed: what commits changed, from wherever a reader stopped last. Start with `polling`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.history.feed.baselines import Baseline as Baseline
    from omnigraph.history.feed.baselines import baseline_lines as baseline_lines
    from omnigraph.history.feed.baselines import install_baseline as install_baseline
    from omnigraph.history.feed.blocks import ChangeBlock as ChangeBlock
    from omnigraph.history.feed.blocks import ChangeCause as ChangeCause
    from omnigraph.history.feed.blocks import CommitChanges as CommitChanges
    from omnigraph.history.feed.blocks import FeedPage as FeedPage
    from omnigraph.history.feed.commit_pages import CommitChangeStream as CommitChangeStream
    from omnigraph.history.feed.commit_pages import commit_change_stream as commit_change_stream
    from omnigraph.history.feed.commit_pages import commit_changes as commit_changes
    from omnigraph.history.feed.limits import PageLimits as PageLimits
    from omnigraph.history.feed.polling import changes as changes
    from omnigraph.history.feed.polling import changes_in_whole_blocks as changes_in_whole_blocks
    from omnigraph.history.feed.refusals import ChangeCursorRejected as ChangeCursorRejected
    from omnigraph.history.feed.refusals import ChangeFeedGap as ChangeFeedGap
    from omnigraph.history.feed.refusals import ChangeSchemaBoundary as ChangeSchemaBoundary
    from omnigraph.history.feed.refusals import CommitHasNoParent as CommitHasNoParent
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "baselines": (
                "Baseline",
                "baseline_lines",
                "install_baseline",
            ),
            "blocks": (
                "ChangeBlock",
                "ChangeCause",
                "CommitChanges",
                "FeedPage",
            ),
            "commit_pages": (
                "CommitChangeStream",
                "commit_change_stream",
                "commit_changes",
            ),
            "limits": ("PageLimits",),
            "polling": (
                "changes",
                "changes_in_whole_blocks",
            ),
            "refusals": (
                "ChangeCursorRejected",
                "ChangeFeedGap",
                "ChangeSchemaBoundary",
                "CommitHasNoParent",
            ),
        },
    )
