"""What a queue worker makes of jobs: arguments, results, failures."""

from __future__ import annotations

import json
import random

from json_texts import random_text

from edgerun.json_value import dump_json

SAMPLE = '{"seed":18446744073709551615,"cfg":7.0,"z":-0,"f":-0.0,"t":"\\ud800é","b":1,"a":2}'


def test_a_job_calls_the_function_with_its_input_by_name(agent, serve):
    serve("def work(prompt, steps=4):\n    return {'prompt': prompt, 'steps': steps}\n")
    assert agent.run({"prompt": "héllo"}) == {"output": {"prompt": "héllo", "steps": 4}}
    assert agent.run({"prompt": "", "steps": 1}) == {"output": {"prompt": "", "steps": 1}}


def test_null_and_empty_inputs_call_a_function_without_arguments(agent, serve):
    serve("def work():\n    return 'called'\n")
    for value in (None, {}, {"__empty": True}):
        assert agent.run(value) == {"output": "called"}


def test_an_input_that_is_no_object_fails_the_job(agent, serve):
    serve("def work(x):\n    return x\n")
    for value, kind in ((3, "a number"), ("text", "text"), ([1], "a list"), (True, "a boolean")):
        error = agent.run(value)["error"]
        assert error == f"The input must be an object with the function's arguments by name; it is {kind}."


def test_arguments_that_do_not_fit_fail_the_job_and_are_named(agent, serve):
    serve("def work(prompt, /, steps=4, *, seed):\n    return [prompt, steps, seed]\n")
    usage = "Its arguments: prompt, steps=4, seed."
    assert agent.run({"seed": 1}) == {"error": f"work() lacks the argument 'prompt' in the input. {usage}"}
    assert agent.run({"prompt": 1, "sed": 2, "seed": 3}) == {
        "error": f"work() does not take the argument 'sed'. {usage}"
    }
    assert agent.run({"prompt": 1, "seed": 3}) == {"output": [1, 4, 3]}


def test_a_function_may_take_any_argument(agent, serve):
    serve("def work(**values):\n    return values\n")
    assert agent.run({"a": 1, "b": 2}) == {"output": {"a": 1, "b": 2}}


def test_a_result_with_an_error_member_stays_a_result(agent, serve):
    serve("def work(value):\n    return value\n")
    result = {"error": "none", "status": "IN_PROGRESS", "output": 1}
    assert agent.run({"value": result}) == {"output": result}
    assert agent.run({"value": None}) == {"output": None}
    assert agent.run({"value": {}}) == {"output": {}}


def test_an_exception_fails_the_job_with_a_traceback_that_starts_in_the_users_file(agent, app, serve):
    worker = serve(
        """
        def inner():
            raise LookupError("no wéights")

        def work():
            inner()
        """
    )
    error = json.loads(agent.run({})["error"])
    assert (error["error_type"], error["error_message"]) == ("LookupError", "no wéights")
    lines = error["error_traceback"].splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1] == f'  File "{app.directory}/main.py", line 5, in work'
    assert lines[-1] == "LookupError: no wéights"
    assert error["worker_id"] == "w1"
    assert error["error_traceback"].rstrip() in worker.output


def test_what_is_said_of_jobs_that_run_side_by_side_names_the_job(agent, serve):
    worker = serve("def work():\n    raise LookupError('none')\n", max_concurrency=2)
    job = agent.submit({})
    agent.result(job)
    [line] = [json.loads(line) for line in worker.output.splitlines() if "LookupError" in line]
    assert (line["requestId"], line["level"]) == (job, "ERROR")


def test_an_async_functions_traceback_starts_in_the_users_file_as_well(agent, app, serve):
    serve("async def work():\n    raise ValueError('no')\n")
    error = json.loads(agent.run({})["error"])
    assert error["error_traceback"].splitlines()[1] == f'  File "{app.directory}/main.py", line 2, in work'


def test_exiting_fails_the_job_and_the_worker_goes_on(agent, serve):
    serve("import sys\n\ndef work(code):\n    sys.exit(code) if code else None\n    return 'here'\n")
    error = json.loads(agent.run({"code": 3})["error"])
    assert (error["error_type"], error["error_message"]) == ("SystemExit", "3")
    assert agent.run({"code": 0}) == {"output": "here"}


NOT_JSON = [
    ("{'images': [b'x']}", "output['images'][0] is of type bytes, which JSON cannot carry: pass a string"),
    ("float('nan')", "output is nan, which JSON cannot carry: pass None or a text instead."),
    ("[{1, 2}]", "output[0] is of type set, which JSON cannot carry: pass a list"),
    ("{(1, 2): 3}", "output has the key (1, 2) of type tuple"),
    ("LOOP", "output is nested more than 2000 deep, or holds itself."),
    (
        "datetime.date(2026, 1, 2)",
        "output is of type datetime.date, which JSON cannot carry: pass its .isoformat()",
    ),
    ("Point(1)", "output is of type main.Point, which JSON cannot carry: pass dataclasses.asdict"),
    ("[10 ** 5000]", "output[0] is too large a number"),
    ("float('1e400')", "output is inf, which JSON cannot carry: pass None or a text instead."),
    ("object", "output is of type type, which JSON cannot carry: pass strings, numbers"),
]


def test_a_result_that_json_cannot_carry_fails_the_job_with_advice(agent, serve):
    values = ", ".join(expression for expression, _ in NOT_JSON)
    serve(
        f"""
        import dataclasses
        import datetime

        LOOP = []
        LOOP.append(LOOP)

        @dataclasses.dataclass
        class Point:
            x: int

        def work(at):
            return [{values}][at]
        """
    )
    for at, (_, message) in enumerate(NOT_JSON):
        assert agent.run({"at": at})["error"].startswith(message)


def test_functions_that_share_a_name_are_distinguished_by_their_endpoint(agent, app, start):
    app.write(
        "main.py",
        """
        from edgerun import Endpoint

        @Endpoint(name="first")
        def work():
            return "first"

        @Endpoint(name="second")
        def work():
            return "second"
        """,
    )
    app.queue("first", "work")
    start("first")
    assert agent.run({}) == {"output": "first"}


def test_an_error_text_with_half_a_character_still_ends_the_job(agent, serve):
    serve("def work():\n    raise ValueError('\\ud800')\n")
    assert json.loads(agent.run({})["error"])["error_message"] == "\ud800"


def test_values_come_back_as_python_reads_them(agent, serve):
    serve(
        """
        from edgerun.runtime import progress

        def work(value):
            progress(value)
            yield value
            yield value
        """
    )
    chance = random.Random(7)
    for text in [SAMPLE, *(random_text(chance) for _ in range(60))]:
        job = agent.submit_text(f'{{"value":{text}}}')
        value = json.loads(text)
        agent.result(job)
        written = dump_json(value, "it")
        assert agent.bodies[job] == [b'{"output":[' + written + b"," + written + b"]}"]
        assert repr([*agent.progress[job], *agent.chunks[job]]) == repr([value] * 3)


def test_an_input_that_python_does_not_read_fails_its_job_and_no_other(agent, serve):
    serve("def work(value):\n    return value\n")
    for text, message in (("[" * 100_000 + "]" * 100_000, "it is nested"), ("9" * 5_000, "Exceeds the limit")):
        job = agent.submit_text(f'{{"value":{text}}}')
        assert agent.result(job)["error"].startswith(f"The input cannot be read: {message}")
        assert agent.run({"value": 1}) == {"output": 1}


def test_progress_is_shown_while_the_job_runs(agent, serve):
    serve(
        """
        import asyncio
        from edgerun.runtime import progress

        progress("nobody sees it")

        async def work():
            progress({"percent": 50})
            await asyncio.sleep(0)
            progress(100)
            return "done"
        """
    )
    job = agent.submit({})
    assert agent.result(job) == {"output": "done"}
    assert agent.progress == {job: [{"percent": 50}, 100]}


def test_a_result_may_ask_for_a_fresh_worker(agent, serve):
    serve("def work(value):\n    return {'refresh_worker': value}\n")
    assert agent.run({"value": True}) == {"output": {"refresh_worker": True}, "stopPod": True}
    assert agent.run({"value": "yes"}) == {"output": {"refresh_worker": "yes"}}


def test_what_is_printed_reaches_the_log_at_once_with_its_lines(agent, serve, tmp_path):
    worker = serve(
        """
        import os, pathlib, sys

        def work(file):
            print("one")
            print("two", file=sys.stderr)
            return pathlib.Path(file).read_text()
        """
    )
    shown = agent.run({"file": str(tmp_path / "worker.log")})["output"]
    assert shown.splitlines()[-2:] == ["one", "two"]
    assert worker.process.poll() is None
