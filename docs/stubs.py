"""For the page of the API: stubs (.pyi) hide neither docstrings nor what a class inherits."""

import griffe


class DocumentedMembers(griffe.Extension):
    """Puts the code in the place of what is said of it in a stub alone."""

    def on_package(self, *, pkg, **_):
        """Called by griffe once the package is read, and its stubs are merged into it."""
        for module in pkg.modules.values():
            if not module.is_alias:
                self.on_package(pkg=module)
        for name, cls in list(pkg.classes.items()):
            if cls.is_alias:
                continue
            if name in pkg.imports:  # defined in another module
                pkg.set_member(name, griffe.Alias(name, pkg.imports[name]))
                continue
            for method, member in list(cls.members.items()):
                if not member.is_alias and not member.runtime:  # inherited
                    cls.del_member(method)
