"""A module includes only modules of lower layers, and nothing it must not know."""

import re

import pytest

from source_tree import ROOT, files_below, includes, shown

LAYERS = [
    {"base"},
    {"limiter"},
    {"gossip", "http", "routing"},
    {"membership", "net"},
    {"definitions", "sync"},
    {"engine", "config"},
    {"proxy", "cluster", "admin", "sim"},
    {"node"},
    {"app", "embed"},
]
LAYER = {module: layer for layer, modules in enumerate(LAYERS) for module in modules}
# Within a layer: a route is found for a parsed head.
SIDEWAYS = {("routing", "http")}

SOCKETS = r"(sys/socket|sys/epoll|netinet/|sys/un|unistd)"
ASIO = r"boost/asio"
BEAST = r"boost/beast"
THREADS = r"(thread|mutex|shared_mutex|condition_variable|future)$"
LOGS = r"spdlog/"
METRICS = r"prometheus/"
TEXT = r"(yaml-cpp|nlohmann)/"
# A folder has the list of the one that its files come from, whatever it is called.
NEVER = {
    "base": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT],
    "limiter": [SOCKETS, ASIO, BEAST, LOGS, METRICS, TEXT],
    "gossip": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT, r"^limiter/"],
    "membership": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT, r"^limiter/"],
    # Of the limiter they know the definition and its laws, not how instances are kept.
    "definitions": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT, r"^membership/",
                    r"^limiter/(?!definition\.h|name_pattern\.h|template_index\.h)"],
    "sync": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT],
    "http": [SOCKETS, ASIO, BEAST, r"^limiter/", LOGS, METRICS],
    "routing": [SOCKETS, ASIO, r"^limiter/", LOGS, METRICS],
    "engine": [SOCKETS, ASIO, BEAST, THREADS, LOGS, METRICS, TEXT],
    "config": [ASIO, BEAST, THREADS, METRICS, r"^(gossip|membership|sync)/"],
    "net": [r"^(limiter|gossip|http|routing)/", METRICS],
    "proxy": [r"^(gossip|membership|sync|definitions|engine)/", TEXT],
    "cluster": [r"^proxy/", BEAST],
    "node": [r"^proxy/", BEAST, LOGS],
    "embed": [r"^proxy/", BEAST, LOGS],
    "sim": [SOCKETS, ASIO, BEAST, THREADS],
}


def module_files():
    return [(path.parent.relative_to(ROOT / "src").parts[0], path)
            for path in files_below("src") if path.parent != ROOT / "src"]


def test_every_module_has_a_layer():
    assert {module for module, _ in module_files()} <= set(LAYER)


def upward_arrows(files):
    wrong = []
    for module, path in files:
        for included in includes(path):
            other = included.split("/")[0]
            if other not in LAYER or "/" not in included or other == module:
                continue
            if LAYER[other] >= LAYER[module] and (module, other) not in SIDEWAYS:
                wrong.append(f"{shown(path)} includes {included}")
    return wrong


def test_arrows_run_downwards():
    assert upward_arrows(module_files()) == []


def test_an_upward_arrow_would_be_seen(tmp_path):
    bad = ROOT / "src" / "base" / "assert.h"
    assert upward_arrows([("limiter", bad)]) == []
    sample = next(path for module, path in module_files()
                  if any(name.startswith("base/") for name in includes(path)))
    LAYER["base"], saved = 9, LAYER["base"]
    try:
        assert upward_arrows([("limiter", sample)])
    finally:
        LAYER["base"] = saved


@pytest.mark.parametrize("module", sorted(NEVER))
def test_a_module_does_not_see(module):
    wrong = [
        f"{shown(path)} includes {included}"
        for owner, path in module_files()
        if owner == module
        for included in includes(path)
        for pattern in NEVER[module]
        if re.search(pattern, included)
    ]
    assert wrong == []


def test_public_headers_of_embedders_see_only_each_other():
    wrong = [
        f"{shown(path)} includes {included}"
        for path in files_below("include") if (ROOT / "include").exists()
        for included in includes(path)
        if included.split("/")[0] in LAYER
    ]
    assert wrong == []


def test_asio_and_beast_stay_out_of_public_headers():
    """A translation unit that includes them costs seconds. Public is what another module includes;
    only net, whose job it is, may show Asio, and node, whose users are Asio programs anyway."""
    files = module_files()
    public = {included for module, path in files for included in includes(path)
              if included.split("/")[0] in LAYER and included.split("/")[0] != module}
    wrong = [
        f"{shown(path)} includes {included}"
        for module, path in files
        if module not in ("net", "node") and str(path.relative_to(ROOT / "src")) in public
        for included in includes(path)
        if re.match(r"boost/(asio|beast)(/|\.hpp)", included)
    ]
    assert wrong == []
