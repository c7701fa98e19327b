"""An origin and the fleets of one test."""

import contextlib

from .origin import Origin
from .sidecar import Fleet, names


class World:
    """Everything ends with the test, or where it is left."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.origin = None
        self.ending = contextlib.ExitStack()  # what fails to end keeps nothing else from it

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.close()

    def fleet(self, count, quotas, routes=None, settings=None, start=True, **origin_options):
        self.origin = Origin(self.folder, listeners=names(count), **origin_options)
        self.ending.callback(self.origin.stop)
        fleet = Fleet(self.folder, count, quotas, self.origin, routes, settings)
        self.ending.callback(fleet.stop)
        return fleet.start() if start else fleet
