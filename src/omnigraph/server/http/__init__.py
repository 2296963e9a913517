"""HTTP: requests as they come in, replies as they go out, and which operation a path means."""

from __future__ import annotations

from omnigraph.server.http.body_bytes import BodyBytes as BodyBytes
from omnigraph.server.http.exchange import ClientGone as ClientGone
from omnigraph.server.http.exchange import Request as Request
from omnigraph.server.http.exchange import params_of as params_of
from omnigraph.server.http.exchange import parsed as parsed
from omnigraph.server.http.exchange import shaped as shaped
from omnigraph.server.http.parameters import Parameter as Parameter
from omnigraph.server.http.parameters import Parameters as Parameters
from omnigraph.server.http.refusals import HttpRefusal as HttpRefusal
from omnigraph.server.http.refusals import Overloaded as Overloaded
from omnigraph.server.http.refusals import StillUnavailable as StillUnavailable
from omnigraph.server.http.refusals import bad_request as bad_request
from omnigraph.server.http.refusals import not_found as not_found
from omnigraph.server.http.refusals import unauthorized as unauthorized
from omnigraph.server.http.refusals import wrong_media as wrong_media
from omnigraph.server.http.replies import ARROW as ARROW
from omnigraph.server.http.replies import JSON as JSON
from omnigraph.server.http.replies import BrokenStream as BrokenStream
from omnigraph.server.http.replies import Receive as Receive
from omnigraph.server.http.replies import Reply as Reply
from omnigraph.server.http.replies import Scope as Scope
from omnigraph.server.http.replies import Send as Send
from omnigraph.server.http.replies import StreamReply as StreamReply
from omnigraph.server.http.replies import send_reply as send_reply
from omnigraph.server.http.replies import send_stream as send_stream
from omnigraph.server.http.replies import to_json as to_json
from omnigraph.server.http.routing import Match as Match
from omnigraph.server.http.routing import Router as Router
from omnigraph.server.http.routing import decoded as decoded
