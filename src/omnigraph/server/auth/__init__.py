"""Authentication: bearer tokens, where they come from, and who a token stands for."""

from __future__ import annotations

from omnigraph.server.auth.bearer import TokenSet as TokenSet
from omnigraph.server.auth.bearer import presented_token as presented_token
from omnigraph.server.auth.sources import InvalidTokens as InvalidTokens
from omnigraph.server.auth.sources import TokenSource as TokenSource
from omnigraph.server.auth.sources import token_source as token_source
