"""The life of a queue worker: starts that fail, stops, SIGTERM, agents that are away."""

from __future__ import annotations

import json

import pytest
from scripted_agent import ScriptedAgent
from worker_process import Worker


def last_line(worker: Worker) -> str:
    assert worker.wait() == 1
    return worker.messages.splitlines()[-1]


# Starts that fail


def test_a_module_that_raises_ends_the_worker_and_its_file_and_line_are_named(app, serve):
    app.write("lib.py", "x = 1\nint('x')\n")
    worker = serve("import lib\n\ndef work():\n    return 1\n")
    assert last_line(worker) == (
        "The endpoint 'job' cannot start: the module 'main' raises ValueError: invalid literal for int() with base 10: "
        "'x' at lib.py:2. Fix it and run `flash deploy` again."
    )
    assert f'File "{app.directory}/main.py", line 1' in worker.messages


def test_a_syntax_error_is_named_with_its_line(serve):
    message = last_line(serve("def work(:\n    pass\n"))
    assert "SyntaxError" in message
    assert "at main.py:1. Fix it and run `flash deploy` again." in message


def test_a_missing_package_is_named_with_what_to_do_and_nothing_is_installed(app, serve):
    message = last_line(serve("import cv2\n\ndef work():\n    return 1\n"))
    assert "ModuleNotFoundError: No module named 'cv2' at main.py:1" in message
    assert message.endswith(
        "The package opencv-python-headless is not in the app, and nothing is installed at run time: add it to the "
        'endpoint\'s dependencies=["opencv-python-headless"] or to requirements.txt, and run `flash deploy` again.'
    )


def test_a_package_that_was_left_out_of_the_build_is_explained(app, serve):
    app.manifest["excluded_packages"] = ["torchvision"]
    message = last_line(serve("import torchvision.io\n\ndef work():\n    return 1\n"))
    assert "Builds leave the package torchvision out, for images have it or --exclude names it" in message


def test_a_package_of_images_is_not_to_be_added_where_builds_leave_it_out(agent, app, serve):
    """It is imported by its function, as functions do, and the app does not name it."""
    serve("def work():\n    import triton\n")
    error = json.loads(agent.run({})["error"])
    assert error["error_message"].startswith("No module named 'triton'. Builds leave the package triton out")
    assert "FLASH_IMAGE_PACKAGES" in error["error_message"]
    assert error["error_traceback"].endswith("ModuleNotFoundError: No module named 'triton'\n")


def test_threads_of_the_apps_modules_do_not_keep_a_worker_that_is_done(agent, app, start):
    app.write(
        "main.py",
        """
        import os, threading
        os.chdir("/")
        threading.Thread(target=threading.Event().wait).start()
        if "FAILS" in os.environ:
            raise OSError
        def work(): return os.getcwd()
        """,
    )
    app.queue("job", "work")
    failed, worker = start("job", FAILS="1"), start("job")
    assert agent.run({}) == {"output": "/"}
    worker.terminate()
    assert (worker.wait(), failed.wait()) == (0, 1)


def test_a_missing_local_module_is_not_taken_for_a_package(app, serve):
    app.write("lib/__init__.py", "")
    message = last_line(serve("import lib.gone\n\ndef work():\n    return 1\n"))
    assert message.endswith("at main.py:1. Fix it and run `flash deploy` again.")


def test_a_constructor_that_raises_ends_the_worker(serve):
    message = last_line(
        serve(
            "class Model:\n    def __init__(self):\n        open('/gone')\n    def run(self): ...\n", "Model"
        )
    )
    assert "the constructor of Model raises FileNotFoundError" in message
    assert "at main.py:3." in message


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"FLASH_RESOURCE_NAME": ""}, "FLASH_RESOURCE_NAME is not set"),
        ({"FLASH_RESOURCE_NAME": "../x"}, "FLASH_RESOURCE_NAME is '../x', which is no name of an endpoint"),
        ({"FLASH_RESOURCE_NAME": "other"}, "has no endpoint 'other'; it has: job. Run `flash deploy` again."),
        ({"FLASH_ENDPOINT_TYPE": "lb"}, "the endpoint 'job' is queue-based"),
        ({"FLASH_MANIFEST_PATH": "/gone.json"}, "/gone.json is missing: the app's files are not there."),
        ({"RUNPOD_WEBHOOK_GET_JOB": ""}, "RUNPOD_WEBHOOK_GET_JOB is not set"),
    ],
)
def test_an_environment_that_does_not_fit_is_explained(app, start, environment, message):
    app.write("main.py", "def work():\n    return 1\n")
    app.queue("job", "work")
    assert message in last_line(start("job", **environment))


def test_a_handler_file_outside_of_the_app_is_not_run(app, start):
    app.queue("job", "work")
    app.write("../evil.py", "handler = print\n")
    app.manifest["resources"]["job"]["handler_file"] = "../evil.py"
    assert "leads out of" in last_line(start("job"))


def test_a_handler_file_without_a_handler_is_explained(app, start):
    app.queue("job", "work")
    app.write("handler_job.py", "handle = print\n")
    assert "has no function 'handler'" in last_line(start("job"))


def test_a_handler_of_ones_own_gets_the_whole_job(agent, app, start):
    app.queue("job", "work")
    app.write("handler_job.py", "async def handler(job):\n    return [job['id'], job['input']]\n")
    start("job")
    assert agent.run("text") == {"output": ["job-1", "text"]}


def test_no_bytecode_is_written_among_the_apps_files(agent, app, serve):
    app.write("helper.py", "X = 1\n")
    serve("import helper\n\ndef work():\n    return helper.X\n")
    assert agent.run({}) == {"output": 1}
    assert not list(app.directory.rglob("*.pyc"))


def test_the_worker_of_an_endpoint_runs_the_function_itself_and_writes_nothing(agent, app, serve):
    serve(
        """
        from edgerun import Endpoint, GpuGroup

        @Endpoint(name="job", gpu=GpuGroup.ANY)
        async def work(x):
            return x + 1
        """
    )
    assert agent.run({"x": 1}) == {"output": 2}
    assert sorted(one.name for one in app.directory.iterdir()) == [
        "flash_manifest.json",
        "handler_job.py",
        "main.py",
    ]


# Stops


def test_an_async_function_is_cancelled_by_a_stop_and_its_end_is_told(agent, serve):
    worker = serve(
        """
        import asyncio
        from edgerun.runtime import progress

        async def work(wait):
            progress("begun")
            try:
                await asyncio.sleep(1000 if wait else 0)
            except asyncio.CancelledError:
                print("cleaned up")
                raise
            return "ran"
        """
    )
    job = agent.submit({"wait": True})
    agent.until(lambda: agent.progress[job], "its progress")
    agent.stop(job)
    assert agent.result(job) == {"error": "The job was stopped."}
    assert "cleaned up" in worker.output
    assert agent.run({"wait": False}) == {"output": "ran"}


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_generator_is_ended_by_a_stop(agent, serve, kind):
    worker = serve(
        f"""
        import asyncio

        {kind} work():
            try:
                while True:
                    yield 1
                    {"await asyncio.sleep(0)" if kind == "async def" else ""}
            finally:
                print("closed")
        """
    )
    job = agent.submit({})
    agent.until(lambda: len(agent.chunks[job]) > 2)
    agent.stop(job)
    assert agent.result(job) == {"error": "The job was stopped."}
    assert "closed" in worker.output


def test_a_stop_of_a_job_that_is_not_here_changes_nothing(agent, serve):
    serve("def work():\n    return 1\n")
    agent.stop("other")
    assert agent.run({}) == {"output": 1}


# The end


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("slots", [1, 3])
def test_sigterm_ends_an_idle_worker_at_once_with_0(agent, serve, kind, slots):
    worker = serve(f"{kind} work():\n    return 1\n", max_concurrency=slots)
    agent.run({})  # its connection is kept, and polled on again
    agent.until(lambda: agent.open_takes == slots)
    polls = len(agent.takes)
    worker.terminate()
    assert worker.wait() == 0
    assert len(agent.takes) == polls


@pytest.mark.parametrize("kind", ["def", "async def", "generator"])
@pytest.mark.parametrize("slots", [1, 2])
def test_sigterm_lets_the_running_job_end_and_takes_no_other(agent, serve, tmp_path, kind, slots):
    file = tmp_path / "go"
    pause = "await asyncio.sleep(0.01)" if kind == "async def" else "time.sleep(0.01)"
    worker = serve(
        f"""
        import asyncio, pathlib, time
        from edgerun.runtime import progress

        {kind if kind != "generator" else "def"} work(file):
            progress("begun")
            {"yield 'begun'" if kind == "generator" else ""}
            while not pathlib.Path(file).exists():
                {pause}
            {"yield" if kind == "generator" else "return"} "done"
        """,
        max_concurrency=slots,
    )
    job = agent.submit({"file": str(file)})
    agent.until(lambda: agent.progress[job], "its progress")
    agent.until(lambda: (agent.open_takes, agent.open_stops) == (slots - 1, 1), "polls beside it")
    worker.terminate()
    agent.until(lambda: agent.open_takes == agent.open_stops == 0)
    other = agent.submit({"file": str(file)})
    file.touch()
    assert agent.result(job) == {"output": ["begun", "done"] if kind == "generator" else "done"}
    assert worker.wait() == 0
    assert not agent.bodies[other]


def test_processes_that_a_function_forks_end_by_sigterm_and_leave_the_worker_alone(agent, serve):
    serve(
        """
        import multiprocessing, time

        def work():
            child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,))
            child.start()
            child.terminate()
            child.join(20)
            return child.exitcode
        """
    )
    assert agent.run({}) == {"output": -15}
    assert agent.run({}) == {"output": -15}


# Agents that are away


def test_a_result_is_offered_again_until_the_agent_takes_it(agent, serve):
    serve("def work():\n    yield 1\n")
    agent.error_statuses["job-stream"] = [500, 503]
    agent.error_statuses["job-done"] = [502, 429]
    job = agent.submit({})
    assert agent.result(job) == {"output": [1]}
    assert agent.chunks[job] == [1]


def test_a_result_that_the_agent_refuses_is_given_up(agent, serve):
    worker = serve("def work():\n    return 1\n")
    agent.error_statuses["job-done"] = [404]
    lost = agent.submit({})
    assert agent.run({}) == {"output": 1}
    assert not agent.bodies[lost]
    assert "The agent refuses what the job has to say: 404." in worker.messages


def test_polls_go_on_after_error_responses(agent, serve):
    agent.error_statuses["job-take"] = [500, 404, 400]
    agent.error_statuses["job-stop"] = [404]
    agent.error_statuses["ping"] = [500]
    serve("def work():\n    return 1\n")
    assert agent.run({}) == {"output": 1}


def test_a_worker_pings_with_the_jobs_that_it_has(agent, serve):
    serve("import time\n\ndef work():\n    time.sleep(1000)\n")
    agent.until(lambda: set() in agent.pings)
    job = agent.submit({}, "job/with odd,id")
    agent.until(lambda: len(agent.pings) > 2 and agent.pings[-1])
    assert "".join(sorted(agent.pings[-1])) in (job, "idjob/with odd")


def test_a_worker_that_its_agent_has_left_goes_on_when_it_is_back(app, start, serve, agent):
    serve("def work():\n    return 1\n")
    agent.until(lambda: agent.open_takes == 1)
    port = agent._server.server_port
    agent.close()
    again = ScriptedAgent(port)
    try:
        assert again.run({}) == {"output": 1}
    finally:
        again.close()
