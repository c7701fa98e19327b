"""Small HTTP requests for tests: admin and status listeners, single requests through a sidecar."""

import http.client
import json
import re
from dataclasses import dataclass


@dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode()


def request(address, method, path, body=None, headers=None, timeout_s=10):
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=timeout_s)
    try:
        connection.request(method, path, body=body, headers=headers or {})
        response = connection.getresponse()
        fields = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, fields, response.read())
    finally:
        connection.close()


def get(address, path, **options):
    return request(address, "GET", path, **options)


_SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)')
_LABEL = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')


def parse_metrics(text):
    """[(name, {label: value}, number)] of Prometheus' text format."""
    samples = []
    for line in text.splitlines():
        found = _SAMPLE.match(line)
        if found:
            labels = dict(_LABEL.findall(found.group(2) or ""))
            samples.append((found.group(1), labels, float(found.group(3))))
    return samples


def metric_sum(samples, name, **labels):
    """Sum of the samples of that name with at least these labels."""
    return sum(number for sample, have, number in samples
               if sample == name and labels.items() <= have.items())
