"""weir, HAProxy and nginx with one worker each, configured alike: three-level check or its nearest
kin, keep-alive on both sides, no logs."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "integration"))

from harness import http  # noqa: E402
from harness.paths import program  # noqa: E402
from harness.ports import free_port  # noqa: E402
from harness.processes import Process, wait_until  # noqa: E402
from harness.sidecar import Sidecar, quota  # noqa: E402

PLENTY = 1_000_000


class Contender:
    """A started proxy: an address, and what its process costs."""

    def __init__(self, name, address, process, children=()):
        self.name = name
        self.address = address
        self.process = process
        self.pids = [process.pid, *children]
        self.busy = []  # its share of a core in each round

    def stop(self):
        self.process.terminate()


def wait_answering(address):
    def answering():
        try:
            return http.get(address, "/b0/object").status in (200, 429)
        except OSError:
            return False
    wait_until(answering, 15, f"{address} answers")


class WeirContender(Contender):
    def __init__(self, name, folder, upstream, rate, limits=True, binary="weir"):
        quotas = [
            quota("service", f"{PLENTY}r/s"),
            quota("service/{bucket}", f"{PLENTY}r/s", parent="service"),
            quota("service/{bucket}/read", f"{rate}r/s", parent="service/{bucket}"),
        ]
        routes = [{"match": {"path": "/{bucket}/**"}, "quota": ["service/{bucket}/read"]}]
        self.sidecar = Sidecar(name, folder, upstream, routes=routes, quotas=quotas if limits else [])
        self.sidecar.program = binary
        self.sidecar.start()
        super().__init__(name, self.sidecar.address, self.sidecar.process)


HAPROXY = """
global
    nbthread 1
    maxconn 4000
defaults
    mode {mode}
    timeout connect 5s
    timeout client 60s
    timeout server 60s
    {http_options}
frontend in
    bind 127.0.0.1:{port}
    {rules}
    default_backend app
backend app
    server app {upstream}
"""

HAPROXY_TABLE = """stick-table type string len 64 size 1m expire 60s store http_req_rate(1s)
    http-request track-sc0 path,field(2,/)
    http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt {rate} }}"""


def haproxy(name, folder, upstream, rate=None, tcp=False):
    port = free_port()
    config = folder / f"{name}.cfg"
    config.write_text(HAPROXY.format(
        mode="tcp" if tcp else "http",
        http_options="" if tcp else "http-reuse always",
        port=port,
        rules=HAPROXY_TABLE.format(rate=rate) if rate is not None else "",
        upstream=upstream.replace("unix:", "unix@")))
    process = Process(["/usr/sbin/haproxy", "-db", "-f", config], folder / f"{name}.log")
    address = f"127.0.0.1:{port}"
    wait_answering(address)
    return Contender(name, address, process)


NGINX = """
worker_processes 1;
daemon off;
master_process off;
pid {folder}/{name}.pid;
error_log {folder}/{name}.log crit;
events {{ worker_connections 8000; }}
http {{
    access_log off;
    client_body_temp_path {folder}/{name}-body;
    proxy_temp_path {folder}/{name}-proxy;
    fastcgi_temp_path {folder}/{name}-fastcgi;
    uwsgi_temp_path {folder}/{name}-uwsgi;
    scgi_temp_path {folder}/{name}-scgi;
    map $uri $bucket {{ "~^/(?<first>[^/]+)" $first; }}
    {zone}
    upstream app {{ server {upstream}; keepalive 2048; keepalive_requests 1000000000; }}
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        keepalive_requests 1000000000;
        client_max_body_size 0;
        location / {{
            {location}
            proxy_pass http://app;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
        }}
    }}
}}
"""


NGINX_ZONE = """limit_req_zone $bucket zone=buckets:64m rate={rate};
    limit_req_status 429;
    limit_req_log_level info;"""


def nginx(name, folder, upstream, rate, burst):
    limit = f"limit_req zone=buckets burst={burst} nodelay;" if burst else "limit_req zone=buckets;"
    return start_nginx(name, folder, upstream, NGINX_ZONE.format(rate=rate), limit)


def nginx_refusing(name, folder, upstream):
    """nginx that answers every request with its own 429 and decides nothing: what its answer alone costs."""
    return start_nginx(name, folder, upstream, "", "return 429;")


def start_nginx(name, folder, upstream, zone, location):
    port = free_port()
    config = folder / f"{name}.conf"
    config.write_text(NGINX.format(folder=folder, name=name, port=port, upstream=upstream, zone=zone,
                                   location=location))
    process = Process(["/usr/sbin/nginx", "-c", config, "-p", folder], folder / f"{name}.out")
    address = f"127.0.0.1:{port}"
    wait_answering(address)
    return Contender(name, address, process)


def floor(name, folder, upstream):
    """Bare epoll and Beast's parser (floor.cpp)."""
    address = f"127.0.0.1:{free_port()}"
    process = Process([program("proxy_floor"), address, upstream], folder / f"{name}.log")
    wait_answering(address)
    return Contender(name, address, process)
