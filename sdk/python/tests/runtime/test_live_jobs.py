"""Jobs of a live worker."""

from __future__ import annotations

import os

import pytest
from live_worker import TOKEN, LiveWorker, Project, sha256_of, outcome_of
from scripted_agent import ScriptedAgent

FUNCTION = """
    from edgerun import Endpoint

    @Endpoint(name="job", cpu="cpu3c-1-2")
    {}
"""


def project(body: str, **files: str) -> Project:
    """One whose main.py ends with the endpoint's function or class."""
    made = Project(**files)
    indented = body.strip("\n").replace("\n", "\n    ")
    made.write("main.py", FUNCTION.format(indented))
    return made


@pytest.fixture(scope="module")
def agent():
    agent = ScriptedAgent()
    yield agent
    agent.close()


@pytest.fixture(scope="module")
def worker(agent, tmp_path_factory):
    """One for all of these tests: it runs whatever it is sent."""
    environment = {
        **agent.environment,
        "FLASH_RESOURCE_NAME": "live-job",
        "SVC_API_KEY": "key-of-environment",
    }
    worker = LiveWorker(tmp_path_factory.mktemp("live"), environment)
    yield worker
    worker.close()


@pytest.fixture(autouse=True)
def started(worker):
    assert worker.process.poll() is None, worker.output


# Code


def test_a_job_runs_the_code_that_it_brings(agent):
    made = project(
        "def work(x, y=2):\n    return helper.double(x) + y", helper="def double(x): return x * 2\n"
    )
    made.files["main.py"] = "import helper\n" + made.files["main.py"]
    assert agent.run(made.request(kwargs={"x": 3})) == {"output": 8}
    assert agent.run(made.request(args=[3, 5])) == {"output": 11}
    assert agent.run(made.request(args=[3], kwargs={"y": 1})) == {"output": 7}
    made.write("helper.py", "def double(x): return x * 20\n")
    assert agent.run(made.request(kwargs={"x": 3})) == {"output": 62}


def test_texts_that_the_worker_has_need_not_come_again_and_others_are_asked_for(agent):
    made = project("def work(): return helper.NAME", helper="NAME = 'one'\n")
    made.files["main.py"] = "import helper\n" + made.files["main.py"]
    agent.run(made.request())
    assert agent.run(made.request(sources={})) == {"output": "one"}
    made.write("helper.py", "NAME = 'two'\n")
    missing = outcome_of(agent.run(made.request(sources={})))
    assert (missing["error_type"], missing["missing_modules"]) == (
        "MissingModules",
        [made.modules["helper.py"]],
    )
    missing = {made.modules["helper.py"]: made.files["helper.py"]}
    assert agent.run(made.request(sources=missing)) == {"output": "two"}


def test_texts_of_peers_are_asked_for_before_anything_runs(agent):
    made = project("def work(): return 1")
    peer = made.code(function_name="other", modules={"other.py": sha256_of("never sent")})
    missing = outcome_of(agent.run(made.request(peers={"other": peer})))
    assert missing["missing_modules"] == [sha256_of("never sent")]


def test_a_text_that_was_changed_on_its_way_is_not_run(agent):
    made = project("def work(): return 'mine'")
    text = made.files["main.py"].replace("mine", "theirs")
    error = agent.run(made.request(sources={made.modules["main.py"]: text}))["error"]
    assert "has another SHA-256" in error


def test_packages_relative_imports_and_data_beside_the_code_work(agent):
    made = Project()
    made.write(
        "my-workers/main.py",
        """
        from pathlib import Path
        from edgerun import Endpoint
        from .parts.words import WORD

        @Endpoint(name="job", cpu="cpu3c-1-2")
        def work():
            return [WORD, Path(__file__).with_name("data.txt").read_text(), __name__]
        """,
    )
    made.write("my-workers/parts/words.py", "WORD = 'hé'\n")
    made.write("my-workers/data.txt", "data\n")
    result = agent.run(made.request(module="my-workers.main"))
    assert result == {"output": ["hé", "data\n", "my-workers.main"]}


def test_another_version_is_imported_again_and_everything_else_stays(agent):
    made = project(
        "def work(): return [counter.seen(), id(decimal)]",
        counter="SEEN = []\ndef seen():\n    SEEN.append(1)\n    return len(SEEN)\n",
    )
    made.files["main.py"] = "import counter, decimal\n" + made.files["main.py"]
    [first, module] = agent.run(made.request())["output"]
    assert (first, agent.run(made.request())["output"]) == (1, [2, module])
    made.files["main.py"] += "# edited\n"
    assert agent.run(made.request())["output"] == [1, module]


def test_a_file_that_was_removed_cannot_be_imported_any_more(agent):
    made = project("def work():\n    import gone\n    return gone.X", gone="X = 1\n")
    assert agent.run(made.request()) == {"output": 1}
    del made.files["gone.py"]
    error = outcome_of(agent.run(made.request()))
    assert error["error_type"] == "ModuleNotFoundError"
    assert (
        "The package gone is not on this worker: add it to the endpoint's dependencies"
        in error["error_message"]
    )


def test_directories_that_code_adds_to_the_path_are_those_of_its_version(agent):
    made = project("def work(): return words.WORD")
    added = "import sys\nfrom pathlib import Path\nsys.path.append(str(Path(__file__).parent / 'lib'))\n"
    made.files["main.py"] = f"{added}sys.path.append(Path())\nimport words\n" + made.files["main.py"]
    for word in ("one", "two"):
        made.write("lib/words.py", f"WORD = '{word}'\n")
        assert agent.run(made.request()) == {"output": word}


def test_lines_are_logged_once_however_often_the_code_has_changed(agent, worker):
    made = project("def work():\n    for name in NAMES: logging.getLogger(name).warning('logged by ' + name)")
    hooked = """
import logging
import decimal as library  # stays imported, and so do its handlers
NAMES = ['main', 'shop', 'root', 'decimal']
for name in NAMES:
    if not (name == 'decimal' and logging.getLogger(name).handlers):
        logging.getLogger(name).addHandler(logging.StreamHandler())
    logging.getLogger(name).propagate = False
"""
    text = made.files["main.py"]
    for version in range(3):
        made.files["main.py"] = f"{hooked}VERSION = {version}\n{text}"
        agent.run(made.request())
    counts = [worker.output.count(f"logged by {name}") for name in ("main", "shop", "root", "decimal")]
    assert counts == [3, 3, 3, 3]


def test_code_of_another_endpoint_is_not_run(agent):
    made = project("def work(): return 1")
    made.files["main.py"] = made.files["main.py"].replace('"job"', '"other"')
    error = outcome_of(agent.run(made.request()))
    assert "declares no function or class of the endpoint 'job'" in error["error_message"]


# Failures


def test_a_traceback_names_files_as_they_are_in_the_project(agent, worker):
    made = project(
        "def work(x):\n    return helper.check(x)", helper="def check(x):\n    raise LookupError('nö')\n"
    )
    made.files["main.py"] = "import helper\n" + made.files["main.py"]
    error = outcome_of(agent.run(made.request(args=[1])))
    lines = error["error_traceback"].splitlines()
    assert (error["error_type"], error["error_message"]) == ("LookupError", "nö")
    assert [line for line in lines if line.startswith("  File")] == [
        '  File "main.py", line 6, in work',
        '  File "helper.py", line 2, in check',
    ]
    assert "    raise LookupError('nö')" in lines
    assert "LookupError" not in worker.output  # the response has the error, not the log


def test_code_that_cannot_be_loaded_fails_its_jobs_until_it_is_fixed(agent, worker):
    made = project("def work(): return helper.X", helper="X = (\n")
    made.files["main.py"] = "import helper\n" + made.files["main.py"]
    for _ in range(2):
        error = outcome_of(agent.run(made.request()))
        assert error["error_type"] == "SyntaxError"
        assert (
            "raises SyntaxError: '(' was never closed (helper.py, line 1) at helper.py:1. Fix it and save"
            in (error["error_message"])
        )
        assert 'File "helper.py", line 1' in error["error_traceback"]
    assert "helper.py" not in worker.output  # told once
    made.write("helper.py", "X = 5\n")
    assert agent.run(made.request()) == {"output": 5}


def test_a_module_that_exits_fails_its_job_and_the_worker_goes_on(agent):
    made = project("def work(): return 1")
    made.files["main.py"] += "import sys\nsys.exit(3)\n"
    assert outcome_of(agent.run(made.request()))["error_type"] == "SystemExit"
    assert agent.run(project("def work(): return 1").request()) == {"output": 1}


def test_arguments_that_do_not_fit_are_named(agent):
    made = project("def work(prompt, steps=4): return steps")
    usage = "Its arguments: prompt, steps=4."
    for members, said in (
        ({}, f"work() lacks the argument 'prompt' in the input. {usage}"),
        ({"kwargs": {"prompt": 1, "n": 2}}, f"work() does not take the argument 'n'. {usage}"),
        ({"args": [1, 2, 3]}, f"work() was given 3 values without a name. {usage}"),
        ({"args": [1], "kwargs": {"prompt": 1}}, f"work() was given the argument 'prompt' twice. {usage}"),
    ):
        assert agent.run(made.request(**members)) == {"error": said}


@pytest.mark.parametrize("value", [None, {}, {"prompt": "hello"}, {"protocol": 1}, [1], "text"])
def test_a_plain_input_is_told_to_come_through_flash_dev(agent, value):
    error = agent.run(value)["error"]
    assert error.startswith("This worker is in live mode:")
    assert "Call the function through `flash dev`" in error


def test_a_request_for_a_route_does_not_belong_in_a_queue(agent):
    made = project("def work(): return 1")
    error = agent.run(made.route({"GET /": "work"}, "GET", "/"))["error"]
    assert error == "A route is called by HTTP, and this endpoint has a queue."


# Kinds of functions


def test_a_function_without_arguments_is_called(agent):
    assert agent.run(project("def work(): return 'called'").request()) == {"output": "called"}
    assert agent.run(project("def work(): return 'called'").request(kwargs={"__empty": True})) == {
        "output": "called"
    }


def test_plain_and_async_functions_both_run_on_the_main_thread_in_any_order(agent):
    plain = project(
        """
def work():
    async def inner():
        return asyncio.get_running_loop().is_running()
    return [threading.current_thread() is threading.main_thread(), asyncio.run(inner())]
"""
    )
    asynchronous = project(
        """
async def work():
    STARTED.append(asyncio.create_task(asyncio.sleep(0)))
    await STARTED[0]  # of the first job: all share one loop
    return threading.current_thread() is threading.main_thread()
"""
    )
    plain.files["main.py"] = "import asyncio, threading\n" + plain.files["main.py"]
    asynchronous.files["main.py"] = (
        "import asyncio, threading\nSTARTED = []\n" + asynchronous.files["main.py"]
    )
    for _ in range(2):
        assert agent.run(plain.request()) == {"output": [True, True]}
        assert agent.run(asynchronous.request()) == {"output": True}
        assert agent.run(asynchronous.request()) == {"output": True}


def test_a_plain_function_may_use_the_loop_that_is_there(agent):
    made = project("def work(): return asyncio.get_event_loop().run_until_complete(asyncio.sleep(0, 'done'))")
    made.files["main.py"] = "import asyncio\n" + made.files["main.py"]
    agent.run(
        project("def work(): return __import__('asyncio').run(__import__('asyncio').sleep(0))").request()
    )
    assert agent.run(made.request()) == {"output": "done"}


@pytest.mark.parametrize(
    "function",
    [
        "def work(n):\n    for i in range(n):\n        yield {'i': i}",
        "async def work(n):\n    for i in range(n):\n        yield {'i': i}",
    ],
)
def test_what_is_yielded_is_streamed_and_is_the_output(agent, function):
    job = agent.submit(project(function).request(kwargs={"n": 2}))
    assert agent.result(job) == {"output": [{"i": 0}, {"i": 1}]}
    assert (agent.chunks[job], agent.is_stream[job]) == ([{"i": 0}, {"i": 1}], True)


def test_a_generator_keeps_its_context_and_is_closed_when_its_job_is_stopped(agent):
    made = project(
        """
def work():
    VALUE.set("kept")
    try:
        while True:
            yield VALUE.get()
    finally:
        CLOSED.append(1)
"""
    )
    made.files["main.py"] = (
        "from contextvars import ContextVar\nVALUE = ContextVar('value')\nCLOSED = []\n"
        + made.files["main.py"]
    )
    job = agent.submit(made.request())
    agent.until(lambda: len(agent.chunks[job]) > 2, "chunks")
    agent.stop(job)
    assert agent.result(job) == {"error": "The job was stopped."}
    assert set(agent.chunks[job]) == {"kept"}


def test_an_async_function_that_is_stopped_ends(agent):
    made = project("async def work():\n    progress('begun')\n    await asyncio.Event().wait()")
    made.files["main.py"] = "import asyncio\nfrom edgerun.runtime import progress\n" + made.files["main.py"]
    job = agent.submit(made.request())
    agent.until(lambda: agent.progress[job], "progress")
    agent.stop(job)
    assert agent.result(job) == {"error": "The job was stopped."}


# Classes

CLASS = """
class Model:
    def __init__(self, size=1):
        self.size = size
        self.calls = 0

    def count(self, by=1):
        self.calls += by
        return [self.size, self.calls]

    async def twice(self):
        return self.count(2)
"""


def test_an_object_lives_as_long_as_its_code_and_the_arguments_of_its_constructor(agent):
    made = project(CLASS)
    assert agent.run(made.call_of_class("Model", "count"))["output"] == [1, 1]
    assert agent.run(made.call_of_class("Model", "twice"))["output"] == [1, 3]
    big = {"constructor_kwargs": {"size": 9}}
    assert agent.run(made.call_of_class("Model", "count", **big))["output"] == [9, 1]
    assert agent.run(made.call_of_class("Model", "count", args=[5], **big))["output"] == [9, 6]
    made.files["main.py"] += "\n"
    assert agent.run(made.call_of_class("Model", "count", constructor_args=[7]))["output"] == [7, 1]


def test_an_object_is_freed_before_the_next_version_is_made(agent):
    made = project(
        """
class Model:
    def __init__(self):
        self.me = self  # so that counting references does not suffice
        self.freed_before = list(FREED)

    def __del__(self):
        FREED.append(VERSION)

    def run(self):
        return self.freed_before
"""
    )
    kept = "import decimal\nFREED = decimal.__dict__.setdefault('FREED', [])  # it outlives versions\n"
    text = made.files["main.py"]
    made.files["main.py"] = f"{kept}VERSION = 1\n{text}"
    assert agent.run(made.call_of_class("Model", "run")) == {"output": []}
    made.files["main.py"] = f"{kept}VERSION = 2\n{text}"
    assert agent.run(made.call_of_class("Model", "run")) == {"output": [1]}


def test_a_method_may_be_named_in_the_input_as_in_a_deployed_app(agent):
    made = project(CLASS)
    assert agent.run(made.call_of_class("Model", kwargs={"method": "count", "by": 3}))["output"] == [1, 3]
    available = "Available: count, twice."
    for members, said in (
        ({}, f"The input needs 'method', the name of the method to call. {available}"),
        ({"method_name": "_size"}, f"There is no method '_size'. {available}"),
    ):
        assert agent.run(made.request(execution_type="class", class_name="Model", **members)) == {
            "error": said
        }


def test_a_class_with_one_method_needs_no_name_of_it(agent):
    made = project("class Model:\n    def run(self, method): return method")
    assert agent.run(made.call_of_class("Model", kwargs={"method": "mine"}))["output"] == "mine"
    assert agent.run(made.call_of_class("Model", "run", kwargs={"method": "mine"}))["output"] == "mine"
    error = agent.run(made.call_of_class("Model", "other", kwargs={"method": "mine"}))["error"]
    assert error == "There is no method 'other'. Available: run."


def test_a_constructor_that_raises_fails_the_job_with_its_place(agent):
    made = project(
        "class Model:\n    def __init__(self): raise OSError('no weights')\n    def run(self): ..."
    )
    error = outcome_of(agent.run(made.call_of_class("Model", "run")))
    assert error["error_type"] == "OSError"
    assert "the constructor of Model raises OSError: no weights at main.py:5" in error["error_message"]


# Trust


def test_neither_the_token_nor_a_key_is_in_the_log_or_the_environment_of_code(agent, worker):
    made = project("def work():\n    print(dict(os.environ))\n    raise ValueError(sorted(os.environ))")
    made.files["main.py"] = "import os\n" + made.files["main.py"]
    error = outcome_of(agent.run(made.request()))
    assert "FLASH_LIVE_TOKEN" not in error["error_message"]
    assert TOKEN not in worker.output
    # What the code prints itself is its own, so the key for other endpoints is looked for in the rest.
    assert all("SVC_API_KEY" in line for line in worker.output.splitlines() if "key-of-environment" in line)


def test_a_worker_that_ends_leaves_no_files(agent, tmp_path):
    worker = LiveWorker(tmp_path, agent.environment)
    try:
        # Two workers share the agent here, so it cannot be told which one runs a job.
        agent.until(lambda: agent.open_takes == 2, "a poll of the second worker")
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("edgerun-live-")]
        worker.terminate()
        assert worker.wait() == 0
    finally:
        worker.close()
    assert {path.name for path in tmp_path.iterdir()} == {"worker.log", "work"}


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FLASH_RESOURCE_NAME", "../x", "which is no name of an endpoint"),
        ("FLASH_RESOURCE_NAME", "", "which is no name of an endpoint"),
        ("FLASH_ENDPOINT_TYPE", "xy", "it must be qb or lb"),
        ("_FLASH_MAX_CONCURRENCY", "many", "it must be a number of jobs from 1 on"),
    ],
)
def test_an_environment_that_makes_no_sense_ends_the_worker(tmp_path, variable, value, message):
    worker = LiveWorker(tmp_path, {variable: value})
    assert worker.wait() == 1
    assert message in worker.output


# Side by side


def test_a_new_version_runs_while_a_job_of_the_one_before_goes_on(tmp_path):
    agent = ScriptedAgent()
    worker = LiveWorker(tmp_path, {**agent.environment, "_FLASH_MAX_CONCURRENCY": "2"})
    try:
        made = project("def work(path):\n    return [open(path).read(), VERSION]")
        text = made.files["main.py"]
        fifo = tmp_path / "fifo"
        os.mkfifo(fifo)
        made.files["main.py"] = "VERSION = 1\n" + text
        first = agent.submit(made.request(kwargs={"path": str(fifo)}))
        made.files["main.py"] = "VERSION = 2\n" + text
        (tmp_path / "plain").write_text("plain")
        assert agent.run(made.request(kwargs={"path": str(tmp_path / "plain")})) == {"output": ["plain", 2]}
        assert not agent.bodies[first]
        fifo.write_text("late")
        assert agent.result(first) == {"output": ["late", 1]}
    finally:
        worker.close()
        agent.close()
