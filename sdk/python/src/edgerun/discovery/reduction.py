"""A module reduced to its declarations, for when the module itself cannot be imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from .candidates import dotted, is_endpoint_call, sdk_names
from .sources import Definition, Source, definitions

_LITERALS = (
    ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp, ast.BinOp, ast.JoinedStr,
    ast.FormattedValue, ast.Starred, ast.keyword, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


def reduced(source: Source) -> ast.Module | None:
    """The declarations that need only literals and names of the SDK, with their places and without bodies.

    None where some declaration needs more than that, such as a variable of another file.
    """
    reducer = _Reducer(source)
    body = [kept for statement in source.tree.body if (kept := reducer.keep(statement)) is not None]
    if reducer.used_calls != _declaring_calls(source, reducer.names):
        return None
    module = ast.Module(body=body, type_ignores=[])
    return ast.fix_missing_locations(module)


class _Reducer:
    def __init__(self, source: Source) -> None:
        self.names = sdk_names(source)
        self.literals: set[str] = set()
        self.endpoints: set[str] = set()
        self.used_calls: set[int] = set()

    def keep(self, statement: ast.stmt) -> ast.stmt | None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return statement if self.is_of_sdk(statement) else None
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return self.keep_definition(statement)
        if isinstance(statement, ast.Assign):
            return self.keep_assignment(statement, statement.targets, statement.value)
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            plain = ast.Assign(targets=[statement.target], value=statement.value)
            return self.keep_assignment(ast.copy_location(plain, statement), plain.targets, plain.value)
        return None

    def is_of_sdk(self, statement: ast.Import | ast.ImportFrom) -> bool:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            return True
        bound = {alias.asname or alias.name.split(".")[0] for alias in statement.names}
        return bound <= self.names.keys()

    def keep_assignment(self, kept: ast.Assign, targets: list[ast.expr], value: ast.expr) -> ast.stmt | None:
        names = {target.id for target in targets if isinstance(target, ast.Name)}
        if len(names) != len(targets) or not self.is_known(value):
            self.literals -= names
            return None
        self.literals |= names
        if is_endpoint_call(value, self.names):
            self.endpoints |= names
        self.note_calls(value)
        return kept

    def keep_definition(self, definition: Definition) -> ast.stmt | None:
        decorators = [one for one in definition.decorator_list if self.is_declaration(one)]
        if not decorators:
            return None
        for decorator in decorators:
            self.note_calls(decorator)
        return _hollow(definition, decorators)

    def is_declaration(self, decorator: ast.expr) -> bool:
        """`@Endpoint(…)`, `@api.post(…)` or `@endpoint`."""
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        root = function.value if isinstance(function, ast.Attribute) else function
        is_ours = is_endpoint_call(decorator, self.names) or (
            isinstance(root, ast.Name) and root.id in self.endpoints
        )
        return is_ours and self.is_known(decorator)

    def is_known(self, expression: ast.AST) -> bool:
        """It can be computed from literals and the SDK alone."""
        if isinstance(expression, ast.Name):
            return expression.id in self.literals or expression.id in self.names
        if isinstance(expression, ast.Attribute):
            return self.is_known(expression.value)
        if isinstance(expression, ast.Call):
            root: ast.expr = expression.func
            while isinstance(root, ast.Attribute):
                root = root.value
            is_of_sdk = dotted(expression.func, self.names) is not None
            is_of_endpoint = isinstance(root, ast.Name) and root.id in self.endpoints
            arguments: list[ast.AST] = [*expression.args, *expression.keywords]
            return (is_of_sdk or is_of_endpoint) and all(map(self.is_known, arguments))
        return isinstance(expression, _LITERALS) and all(map(self.is_known, ast.iter_child_nodes(expression)))

    def note_calls(self, expression: ast.expr) -> None:
        self.used_calls |= {id(node) for node in ast.walk(expression) if is_endpoint_call(node, self.names)}


def _declaring_calls(source: Source, names: Mapping[str, str]) -> set[int]:
    """Endpoints that importing the module constructs: all but those within functions."""
    within: set[int] = set()
    for definition in definitions(source):
        for statement in definition.body:
            within |= {id(node) for node in ast.walk(statement)}
    calls = {id(node) for node in ast.walk(source.tree) if is_endpoint_call(node, names)}
    return {call for call in calls if call not in within}


# Hollow definitions


def _hollow(definition: Definition, decorators: list[ast.expr]) -> ast.stmt:
    hollow: ast.stmt
    if isinstance(definition, ast.ClassDef):
        methods = [
            _hollow(method, [one for one in method.decorator_list if _is_kind_of_method(one)])
            for method in definition.body
            if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        body = methods or [ast.Pass()]
        hollow = ast.ClassDef(
            name=definition.name, bases=[], keywords=[], body=body, decorator_list=decorators
        )
    else:
        hollow = type(definition)(
            name=definition.name,
            args=_hollow_arguments(definition.args),
            body=[ast.Expr(ast.Yield())] if _is_generator(definition) else [ast.Pass()],
            decorator_list=decorators,
        )
    if "type_params" in hollow._fields:  # Since Python 3.12.
        setattr(hollow, "type_params", [])  # noqa: B010
    return ast.copy_location(hollow, definition)


def _is_kind_of_method(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in {"staticmethod", "classmethod", "property"}


def _hollow_arguments(arguments: ast.arguments) -> ast.arguments:
    def bare(argument: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(arg=argument.arg), argument)

    return ast.arguments(
        posonlyargs=list(map(bare, arguments.posonlyargs)),
        args=list(map(bare, arguments.args)),
        vararg=bare(arguments.vararg) if arguments.vararg else None,
        kwonlyargs=list(map(bare, arguments.kwonlyargs)),
        kw_defaults=[ast.Constant(None) if default else None for default in arguments.kw_defaults],
        kwarg=bare(arguments.kwarg) if arguments.kwarg else None,
        defaults=[ast.Constant(None) for _ in arguments.defaults],
    )


def _is_generator(definition: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    open_nodes: list[ast.AST] = list(definition.body)
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            open_nodes += ast.iter_child_nodes(node)
    return False
