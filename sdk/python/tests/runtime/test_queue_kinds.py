"""Generators, classes, and several jobs at a time."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from edgerun.runtime.event_loop import EventLoop


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_what_a_generator_yields_is_streamed_and_all_of_it_is_the_output(agent, serve, kind):
    serve(f"{kind} work(count):\n    for number in range(count):\n        yield {{'error': number}}\n")
    job = agent.submit({"count": 3})
    yielded = [{"error": number} for number in range(3)]
    assert agent.result(job) == {"output": yielded}
    assert agent.chunks[job] == yielded
    assert agent.is_stream[job]
    assert agent.run({"count": 0}) == {"output": []}


def test_a_chunk_is_posted_before_the_next_one_is_made(agent, serve, tmp_path):
    file = tmp_path / "go"
    serve(
        """
        import pathlib, time

        def work(file):
            yield "first"
            while not pathlib.Path(file).exists():
                time.sleep(0.01)
            yield "second"
        """
    )
    job = agent.submit({"file": str(file)})
    agent.until(lambda: agent.chunks[job] == ["first"])
    assert not agent.bodies[job]
    file.touch()
    assert agent.result(job) == {"output": ["first", "second"]}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_generator_that_raises_fails_the_job_and_is_closed(agent, serve, kind):
    serve(
        f"""
        closed = []

        {kind} work(what):
            try:
                yield "a" if what == "raise" else list(closed)
                if what == "raise":
                    raise KeyError("gone")
                yield b"no"
            finally:
                closed.append(what)
        """
    )
    job = agent.submit({"what": "raise"})
    assert json.loads(agent.result(job)["error"])["error_type"] == "KeyError"
    assert agent.chunks[job] == ["a"]
    job = agent.submit({"what": "bytes"})
    assert agent.result(job)["error"].startswith("the yielded value 2 is of type bytes")
    assert agent.chunks[job] == [["raise"]]


def test_yields_beyond_the_limit_of_an_output_fail_the_job_at_once(agent, serve):
    serve("def work():\n    while True:\n        yield 'x' * 5_000_000\n")
    job = agent.submit({})
    assert agent.result(job)["error"].startswith("The function yielded more than 20000000 bytes")
    assert len(agent.chunks[job]) == 3


def test_a_class_is_made_once_and_its_one_method_takes_the_input(agent, serve):
    serve(
        """
        class Counter:
            def __init__(self):
                print("made")
                self.count = 0

            def add(self, step=1):
                self._note(step)
                return self.count

            def _note(self, step):
                self.count += step
        """,
        "Counter",
    )
    assert agent.run({"step": 2}) == {"output": 2}
    assert agent.run({}) == {"output": 3}
    assert agent.run({"method": "add"}) == {"output": 4}
    assert agent.run({"_note": 1})["error"].startswith("Counter.add() does not take the argument '_note'")


def test_the_input_names_one_of_several_methods(agent, serve):
    serve(
        """
        class Base:
            async def load(self, name):
                return "loaded " + name

        class Model(Base):
            @staticmethod
            def double(x):
                return 2 * x

            def stream(self):
                yield 1
        """,
        "Model",
    )
    assert agent.run({"method": "load", "name": "m"}) == {"output": "loaded m"}
    assert agent.run({"method": "double", "x": 2}) == {"output": 4}
    assert agent.run({"method": "stream"}) == {"output": [1]}
    available = "Available: load, double, stream."
    assert agent.run({"x": 1})["error"].endswith(available)
    assert agent.run({"method": "__init__"}) == {"error": f"There is no method '__init__'. {available}"}
    assert agent.run({"method": ["load"]})["error"].endswith(available)
    assert agent.run({"method": "double"})["error"].startswith("Model.double() lacks the argument 'x'")


def test_the_constructor_of_a_class_with_async_methods_finds_the_loop_of_its_jobs(agent, serve):
    serve(
        """
        import asyncio, threading

        class Engine:
            def __init__(self):
                self.loop = asyncio.get_running_loop()

            async def ask(self):
                return self.loop is asyncio.get_running_loop(), threading.current_thread() is threading.main_thread()
        """,
        "Engine",
    )
    assert agent.run({}) == {"output": [True, True]}


def test_a_plain_function_runs_on_the_main_thread_of_a_worker_without_asyncio(agent, serve):
    serve(
        """
        import sys, threading

        def work():
            return threading.current_thread() is threading.main_thread(), "asyncio" in sys.modules
        """
    )
    assert agent.run({}) == {"output": [True, False]}


def test_a_plain_function_may_return_something_to_await(agent, serve):
    serve("def work(x):\n    async def later():\n        return x\n\n    return later()\n", max_concurrency=2)
    assert [agent.run({"x": number}) for number in (1, 2)] == [{"output": 1}, {"output": 2}]


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_four_jobs_run_at_a_time(agent, serve, kind):
    meet = "barrier.wait(20)" if kind == "def" else "await arrive()"
    serve(
        f"""
        import asyncio, threading

        barrier = threading.Barrier(4)
        arrived = []
        all_here = None

        async def arrive():
            global all_here
            all_here = all_here or asyncio.Event()
            arrived.append(1)
            if len(arrived) == 4:
                all_here.set()
            await asyncio.wait_for(all_here.wait(), 20)

        {kind} work(number):
            {meet}
            return number
        """,
        max_concurrency=4,
    )
    agent.until(lambda: agent.open_takes == 4, "four polls")
    jobs = [agent.submit({"number": number}) for number in range(4)]
    assert [agent.result(job) for job in jobs] == [{"output": number} for number in range(4)]


def test_a_worker_with_several_slots_never_says_that_nothing_runs(agent, serve):
    serve("def work():\n    return 1\n", max_concurrency=3)
    agent.until(lambda: agent.open_takes == 3)
    assert {take["job_in_progress"][0] for take in agent.takes} == {"1"}


def test_a_worker_with_one_slot_says_that_nothing_runs(agent, serve):
    serve("def work():\n    return 1\n")
    agent.run({})
    agent.until(lambda: agent.open_takes == 1)
    assert {take["job_in_progress"][0] for take in agent.takes} == {"0"}


def test_a_loop_in_place_has_no_other_thread_even_when_it_is_used_before_it_runs():
    """A job may wait for the worker, and be there before the main thread comes to run the loop."""
    loop, calls, running = EventLoop(), [], []

    async def where() -> int:
        running.append(asyncio.get_running_loop())
        loop.stop()
        return threading.get_ident()

    loop.run_in_place(lambda: calls.append(loop.call(where())))
    assert calls[0].result() == threading.get_ident()
    running[0].close()
    asyncio.set_event_loop(None)
