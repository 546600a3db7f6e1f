"""What a live worker takes for a request, and keeps of it."""

from __future__ import annotations

import pytest
from live_worker import Project, sha256_of

from edgerun.runtime.live.module_sets import ModuleSets
from edgerun.runtime.live.request import SOURCES_MAX_BYTES, Refused, read_request
from edgerun.runtime.live.sources import Sources

PROJECT = Project(main="X = 1\n")


@pytest.mark.parametrize(
    "path",
    [
        *("../main.py", "a/../../main.py", "/etc/main.py", "a//main.py", "a/./main.py", ".", "..", "", "a/"),
        *("a\\main.py", "a\0.py", "a\n.py", "\ud800.py", f"{'a' * 201}.py", f"{'a/' * 600}main.py"),
    ],
)
def test_a_file_stays_within_its_directory(path):
    with pytest.raises(Refused, match="is no path of a file in the project"):
        read_request(PROJECT.request(modules={path: sha256_of("")}))


def test_a_peers_files_are_held_to_the_same_rules():
    peer = PROJECT.code(function_name="work", modules={"../main.py": sha256_of("")})
    with pytest.raises(Refused, match="is no path"):
        read_request(PROJECT.request(peers={"other": peer}))


def test_a_file_cannot_be_a_directory_too():
    modules = {"a": sha256_of(""), "a/main.py": sha256_of("")}
    with pytest.raises(Refused, match="a is a file and a directory at once"):
        read_request(PROJECT.request(modules=modules))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"modules": {"main.py": "../../x"}}, "The SHA-256 of main.py"),
        ({"modules": ["main.py"]}, "'modules' must be an object"),
        ({"sources": {"../x": ""}}, "is no SHA-256 of a source"),
        ({"sources": {sha256_of(""): 3}}, "'sources' must hold texts"),
        ({"execution_type": "shell"}, "'execution_type' is 'shell'"),
        ({"execution_type": "class"}, "A call of a class needs 'class_name'"),
        ({"module": None}, "'module' is missing"),
        ({"kwargs": [1]}, "'kwargs' must be an object"),
        ({"dependencies": [1]}, "'dependencies' must be a list of texts"),
        ({"routes": [{"method": "GET"}]}, "'path' is missing"),
        ({"http": {"method": "GET", "path": "/", "body_base64": "%"}}, "is no base64"),
        ({"http": {"method": "GET", "path": "/", "headers": [["a"]]}}, "must be a name and a value"),
    ],
)
def test_what_is_wrong_with_a_request_is_named(members, message):
    with pytest.raises(Refused) as refused:
        read_request(PROJECT.request(**members))
    assert message in str(refused.value)


def test_texts_have_a_limit_in_all():
    half = "x" * (SOURCES_MAX_BYTES // 2)
    sources = {sha256_of(text): text for text in (half, half + "y")}
    with pytest.raises(
        Refused, match=f"have {SOURCES_MAX_BYTES + 1} bytes; they may have {SOURCES_MAX_BYTES}"
    ):
        read_request(PROJECT.request(sources=sources))


def test_another_version_of_the_protocol_is_told_with_what_to_do():
    with pytest.raises(
        Refused, match="speaks version 2 of live mode, and this worker .* speaks version 1: update"
    ):
        read_request(PROJECT.request(protocol=2))


def test_a_text_that_is_not_that_of_its_hash_is_rejected_with_all_that_came_along():
    sources = Sources()
    for text in ("tampered", "\ud800"):
        with pytest.raises(Refused):
            sources.keep({sha256_of("a"): "a", sha256_of("b"): text})
    assert sources.missing([sha256_of("a")]) == [sha256_of("a")]


def test_the_texts_that_were_used_last_are_kept():
    sources = Sources(max_bytes=2)
    sources.keep({sha256_of("a"): "a", sha256_of("b"): "b"})
    sources.texts([sha256_of("a")])
    sources.keep({sha256_of("c"): "c"})
    assert sources.missing(map(sha256_of, "abc")) == [sha256_of("b")]


def test_files_are_laid_out_byte_by_byte_and_the_last_few_versions_are_kept(tmp_path):
    sources = Sources()
    sets = ModuleSets(tmp_path / "sets", sources)
    made = []
    for number in range(6):
        text = f"# é\r\nX = {number}\n"
        sources.keep({sha256_of(text): text})
        made.append(sets.lay_out({"a/b.py": sha256_of(text)}))
        assert (made[-1] / "a" / "b.py").read_bytes() == text.encode()
    assert sorted((tmp_path / "sets").iterdir()) == sorted(made[-4:])
