"""Running: one process that serves until it is told to stop, or a parent with several such processes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator

import uvicorn

from omnigraph.model.errors import OmniGraphError
from omnigraph.server.app import App
from omnigraph.server.auth import TokenSource, token_source
from omnigraph.server.boot.connections import protocol_with
from omnigraph.server.boot.launch import BootRefused, Launch
from omnigraph.server.boot.memory import use_few_heaps
from omnigraph.server.boot.opening import open_generation
from omnigraph.server.boot.sources import Source, source_of
from omnigraph.server.boot.states import is_open_state
from omnigraph.server.boot.watching import Watcher
from omnigraph.server.observe import event, start_logging, traces_from
from omnigraph.server.settings import is_set, settings_from
from omnigraph.server.state import ServerState, new_state

FAILED = 1
BACKLOG = 2048
CUT_OFF_SECONDS = 1.0
"""How long requests may take to end when a stop waits for them no longer."""


def run_server(launch: Launch, announce: Callable[[str], None] | None = None) -> int:
    """Serves until SIGTERM or SIGINT. Returns the exit code: 0, or 1 if it could not start or finish in time."""
    start_logging()
    use_few_heaps()
    try:
        if launch.workers > 1:
            from omnigraph.server.boot.workers import Parent

            return Parent(launch, listening(launch), announce or _announce).run()
        made = boot(launch)
        return serve(made, listening(launch), announce or _announce)
    except OmniGraphError as error:
        report(error)
        return FAILED


def run_worker(launch: Launch, socket_fd: int, ready_fd: int) -> int:
    """One of several processes: the socket is the parent's, which hears through a pipe when this one serves."""
    start_logging()
    use_few_heaps()
    try:
        booted = boot(launch)
    except OmniGraphError as error:
        report(error)
        return FAILED

    def told(_: str) -> None:
        os.write(ready_fd, b"1")
        os.close(ready_fd)

    booted.parent = os.getppid()
    return serve(booted, socket.socket(fileno=socket_fd), told)


def report(error: OmniGraphError) -> None:
    """Why the server did not start, on stderr: every finding on a line of its own."""
    for finding in getattr(error, "diagnostics", ()):
        print(finding, file=sys.stderr)
    print(f"omnigraph-server: {error}", file=sys.stderr)


def _announce(address: str) -> None:
    print(f"OMNIGRAPH_LISTEN_ADDR={address}", flush=True)


def listening(launch: Launch) -> socket.socket:
    """A socket that listens where the launch says."""
    family = socket.AF_INET6 if ":" in launch.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((launch.host, launch.port))
    except OSError as error:
        sock.close()
        raise BootRefused(f"cannot listen on {launch.bind}: {error.strerror or error}") from None
    sock.listen(BACKLOG)
    sock.setblocking(False)
    return sock


def address_of(sock: socket.socket) -> str:
    host, port = sock.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Booted:
    """A server that is ready to serve: its state, and what it is made from."""

    def __init__(self, launch: Launch, source: Source, tokens: TokenSource, state: ServerState) -> None:
        self.launch = launch
        self.state = state
        self.parent: int | None = None
        """Of a worker."""
        self.watcher = Watcher(state, launch, source, tokens)


def boot(launch: Launch) -> Booted:
    """Reads what is to be served, checks who may be served, and opens every graph."""
    named = ("load_body_max", "query_seconds", "head_seconds", "idle_seconds", "drain_seconds")
    settings, warnings = settings_from(os.environ, **{name: getattr(launch, name) for name in named})
    traces = traces_from(os.environ)
    source = source_of(launch)
    serving = source.read()
    require_all = launch.require_all_graphs or is_set("OMNIGRAPH_REQUIRE_ALL_GRAPHS")
    for text in (*warnings, *serving.warnings):
        event(text, level=logging.WARNING)
    if serving.warnings and require_all:
        raise BootRefused(f"not every graph can be served: {'; '.join(serving.warnings)}")
    tokens_from = token_source(os.environ, launch.token_file)
    tokens = tokens_from.read()
    event("bearer tokens loaded", source=tokens_from.name, actors=len(tokens))
    is_open = is_open_state(serving, tokens, _with_environment(launch))
    generation = open_generation(serving, is_open=is_open, require_all=require_all)
    state = new_state(settings, generation, tokens, is_open=is_open, traces=traces)
    return Booted(launch, source, tokens_from, state)


def _with_environment(launch: Launch) -> Launch:
    from dataclasses import replace

    asked = launch.unauthenticated or is_set("OMNIGRAPH_UNAUTHENTICATED")
    return replace(launch, unauthenticated=asked)


class _Server(uvicorn.Server):
    """uvicorn without its own handling of signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(booted: Booted, sock: socket.socket, announce: Callable[[str], None]) -> int:
    address = address_of(sock)
    config = _config(booted)
    return uvicorn_run(_serve(booted, config, sock, lambda: announce(address)), config)


def uvicorn_run(main: object, config: uvicorn.Config) -> int:
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        result: int = runner.run(main)  # type: ignore[arg-type]
        return result


def _config(booted: Booted) -> uvicorn.Config:
    settings = booted.state.settings
    return uvicorn.Config(
        App(booted.state),
        http=protocol_with(settings.head_seconds, settings.idle_seconds),
        ws="none",
        loop="auto",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # nothing here looks at the address of a caller
        timeout_keep_alive=int(settings.keep_alive_seconds),
        timeout_graceful_shutdown=max(1, int(settings.drain_seconds)),
        backlog=BACKLOG,
    )


async def _serve(booted: Booted, config: uvicorn.Config, sock: socket.socket, started: Callable[[], None]) -> int:
    """Serves, follows changes, and drains: reads end, writes are waited for, what is left is told."""
    state, server, loop = booted.state, _Server(config), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, server, state)
    looks: set[asyncio.Task[None]] = set()
    loop.add_signal_handler(signal.SIGHUP, lambda: looks.add(loop.create_task(booted.watcher.look(asked=True))))
    serving = loop.create_task(server.serve([sock]))
    while not server.started and not serving.done():
        await asyncio.sleep(0.005)
    event("listening", graphs=len(state.generation.graphs))
    started()
    following = loop.create_task(booted.watcher.follow(booted.parent))
    await serving
    following.cancel()
    await _cut_off(server)
    await booted.watcher.stop(_left(state))
    await state.operations.finish(_left(state))
    unfinished = await state.work.finish(_left(state))
    if unfinished:
        event("stopped with writes that are not finished", level=logging.ERROR, writes=unfinished)
        logging.shutdown()
        os._exit(FAILED)  # their threads would keep the process; the next one recovers what they leave
    state.work.close()
    if state.traces is not None:
        await asyncio.to_thread(state.traces.close)
    event("stopped")
    return 0


def _stop(server: uvicorn.Server, state: ServerState) -> None:
    event("stopping: no new connections, what runs is finished")
    if server.should_exit:
        server.force_exit = True
    if state.stops_at is None:
        state.stops_at = asyncio.get_running_loop().time() + state.settings.drain_seconds
    server.should_exit = True


def _left(state: ServerState) -> float:
    """The seconds that a stop still waits: one time for everything that runs."""
    if state.stops_at is None:
        return state.settings.drain_seconds
    return max(0.0, state.stops_at - asyncio.get_running_loop().time())


async def _cut_off(server: uvicorn.Server) -> None:
    """The requests that were cancelled have ended, and their connections too."""
    if server.server_state.tasks:
        await asyncio.wait(set(server.server_state.tasks), timeout=CUT_OFF_SECONDS)
