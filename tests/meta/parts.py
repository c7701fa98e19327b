"""A module that is a façade over parts: each part may know only those before it."""

from typing import NamedTuple

from source_tree import ROOT, includes


class Parts(NamedTuple):
    """The parts of one module in their order, each with the files that belong to it besides the
    header and the source of its name."""

    module: str
    order: list

    @property
    def folder(self):
        return ROOT / "src" / self.module

    def files_of(self, part):
        others = dict(self.order)[part]
        names = [f"{part}.h", f"{part}.cpp", *others]
        return [path for path in (self.folder / name for name in names) if path.exists()]

    def later_includes(self, place, files):
        """What the files include of the parts behind this place in the order; -1: of all parts."""
        later = {f"{self.module}/{part}.h" for part, _ in self.order[place + 1 :]}
        return [f"{path.name} includes {included}" for path in files for included in includes(path)
                if included in later]

    def check_order(self):
        for place, (part, _) in enumerate(self.order):
            files = self.files_of(part)
            assert files, part
            assert self.later_includes(place, files) == []

    def check_what_is_below(self):
        """Files that belong to no part include none."""
        owned = {path for part, _ in self.order for path in self.files_of(part)}
        for path in sorted(self.folder.glob("*.*")):
            if path.suffix in (".h", ".cpp") and path not in owned:
                assert self.later_includes(-1, [path]) == [], path.name
