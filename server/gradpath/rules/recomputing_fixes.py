"""What is computed once, before the loop, is computed again in it, where nothing that ran comes out differently."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from gradpath.autograd.tensor import Node
from gradpath.diagnostic import Edit, Fix, Safety
from gradpath.interpreter.trace import BackwardRan, Event, Site, Stepped, Trace
from gradpath.repairs import Repair, Way
from gradpath.rules import edits
from gradpath.rules.carrying import Case
from gradpath.rules.graphs import is_drawn, leaves, reach
from gradpath.rules.rebuilding import builders
from gradpath.rules.report import Source
from gradpath.rules.stories import since
from gradpath.rules.syntax import Compound, ancestry, block_of, function_of, statement_of
from gradpath.source.document import Document
from gradpath.source.index import holds, names_in, stored_names


def recomputed(case: Case) -> Iterator[Fix]:
    """The statements stand again before the one that uses their result, or after the step that made it out of date.

    The iterations that ran get the values and the random numbers that they got before.
    """
    use = statement_of(case.trace, case.carried[0].use.node) if case.carried else None
    found = _before_the_loop(case) or _in_constructor(case, use)
    if use is None or not found:
        return
    lines = tuple(each.lineno for each in found)
    if _is_within(use, case.loop, found) and not isinstance(use, Compound) and _gives_the_same(case, use):
        edit = _copied(case.source.document(case.carried[0].use), found, use, behind=False)
        if edit is not None:
            repair = Repair(Way.AGAIN_BEFORE, lines=lines, near=use.lineno)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True, rewrite=True)
        return
    step = _out_of_date(case)
    if step is not None and _is_within(step, case.loop, found):
        edit = _copied(case.source.document(case.turn), found, step, behind=True)
        if edit is not None:
            repair = Repair(Way.AGAIN_AFTER, lines=lines, near=step.end_lineno)
            yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True, rewrite=True)


def _before_the_loop(case: Case) -> list[ast.stmt]:
    """The statements before the loop that build the graph, where they bind nothing but variables."""
    built = builders(case.trace, [case.first], lambda node: node.holds and node.freed_by is not None, case.turn.caller)
    if not built or not all(isinstance(each, ast.Assign) for each in built):
        return []
    bound = {name for each in built for name in stored_names(each)}
    attributes = any(isinstance(part, ast.Attribute | ast.Subscript) for each in built for part in _targets(each))
    changed = (_all_names(built) | bound) & stored_names(case.loop)
    return [] if attributes or changed else built


def _all_names(statements: Sequence[ast.stmt]) -> set[str]:
    """The names that statements read or bind."""
    return {name for each in statements for name in names_in(each)}


def _targets(statement: ast.stmt) -> list[ast.expr]:
    return statement.targets if isinstance(statement, ast.Assign) else []


def _in_constructor(case: Case, use: ast.stmt | None) -> list[ast.stmt]:
    """`self.alpha = self.log_alpha.exp()` in `__init__`, where another method of the class uses it."""
    site = case.first.site
    for frame in site.frames() if isinstance(site, Site) and use is not None else ():
        statement, function = statement_of(case.trace, frame.node), function_of(case.trace, frame.node)
        user = function_of(case.trace, use) if use is not None else None
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=own))], value=value) if function and user:
                same = _owner(case.trace, function) is _owner(case.trace, user) is not None
                takes = bool(user.args.args) and user.args.args[0].arg == own
                return [statement] if same and takes and function is not user and names_in(value) == {own} else []
    return []


def _owner(trace: Trace, function: ast.AST) -> ast.ClassDef | None:
    return next((each for each in reversed(ancestry(trace, function)[:-1]) if isinstance(each, ast.ClassDef)), None)


def _is_within(statement: ast.stmt, loop: ast.stmt, found: Sequence[ast.stmt]) -> bool:
    """Whether a statement is in the loop, or sets an attribute, which is known outside of the loop's body as well."""
    attribute = isinstance(_targets(found[0])[0], ast.Attribute)
    return attribute or holds(loop, statement)


def _gives_the_same(case: Case, use: ast.stmt) -> bool:
    """Whether the first of two runs of the use would get the values that it got: nothing is drawn or updated before."""
    if case.trace.visits.get(use, 0) != 2:
        return False
    nodes = reach([case.first])
    if any(is_drawn(node.name) or node.is_open for node in nodes):
        return False
    behind = {leaf.storage for leaf in leaves([case.first])}
    later = {id(event) for event in since(case.trace, case.earlier)}
    return not any(
        id(event) not in later and (not event.updated or any(each.storage in behind for each in event.updated))
        for event in case.trace.of(Stepped)
    )


def _out_of_date(case: Case) -> ast.stmt | None:
    """The statement of the last step before the failure, where no backward has run since."""
    step: Site | None = None
    for event in since(case.trace, case.earlier):
        match event:
            case Stepped(site=site):
                frame = next((each for each in site.frames() if each.caller is case.turn.caller), None)
                step = frame
            case BackwardRan():
                step = None
    statement = None if step is None else statement_of(case.trace, step.node)
    return statement if isinstance(statement, ast.Expr) else None


def recomputed_behind(case: Case, update: ast.stmt, site: Site, is_old: Callable[[Node], bool]) -> Iterator[Fix]:
    """What the next iteration starts from is computed again behind the `update` at `site`, which has outdated it."""
    starts = [each.node for each in case.carried]
    built = builders(case.trace, starts, is_old, site.caller) or []
    block = block_of(case.trace, update) or []
    first = next((index for index, each in enumerate(block) if each in built), None)
    if first is None or not all(any(each is one for one in block) for each in built):
        return
    between = [each for each in block[first:] if each.lineno < update.lineno and each not in built]
    kept = _all_names(built) & {name for each in between for name in stored_names(each)}
    ran = any(isinstance(event, BackwardRan) for event in _behind(case.trace, site))
    named = all(isinstance(part, ast.Name | ast.Tuple) for each in built for part in _targets(each))
    if (
        kept
        or ran
        or not named
        or not all(isinstance(each, ast.Assign) and each.lineno < update.lineno for each in built)
    ):
        return
    edit = _copied(case.source.document(site), built, update, behind=True)
    if edit is not None:
        repair = Repair(Way.AGAIN_AFTER, lines=tuple(each.lineno for each in built), near=update.end_lineno)
        yield Fix.by(repair, Safety.SAFE, (edit,), preferred=True, rewrite=True)


def one_by_one(trace: Trace, source: Source, again: Site) -> Iterator[Fix]:
    """`losses = [f(x) for x in data]` and `for loss in losses:` become one loop, which computes each loss in turn."""
    document = source.document(again)
    loop = next(
        (each for each in reversed(ancestry(trace, again.node)) if isinstance(each, (ast.For, ast.While))), None
    )
    match loop:
        case ast.For(target=ast.Name(id=name), iter=ast.Name(id=every), orelse=[]) if loop.body[0].lineno > loop.lineno:
            block = block_of(trace, loop) or []
        case _:
            return
    place = next((i for i, each in enumerate(block) if each is loop), 0)
    made = next((each for each in reversed(block[:place]) if every in stored_names(each)), None)
    match made:
        case ast.Assign(
            targets=[ast.Name()], value=ast.ListComp(elt=value, generators=[ast.comprehension(ifs=[]) as part])
        ):
            pass
        case _:
            return
    between = block[block.index(made) + 1 : place]
    function = function_of(trace, loop)
    scopes: list[ast.stmt] = block if function is None else [function]
    reads = [each for scope in scopes for each in ast.walk(scope) if isinstance(each, ast.Name)]
    own = {id(each) for each in ast.walk(made)}
    taken = {each.id for each in reads if id(each) not in own}
    if stored_names(part.target) & taken or any(names_in(made) & (stored_names(each) | {every}) for each in between):
        return
    kept = sum(each.id == every for each in reads if id(each) not in own) > 1
    lines = [f"{name} = {edits.flat(document, value)}", *([f"{every}.append({name}.detach())"] if kept else [])]
    begun = edits.replace(document, made.value, "[]") if kept else edits.delete_statement(document, made)
    new = edits.insert_before(document, loop.body[0], *lines)
    if begun is not None and new is not None:
        header = (
            edits.replace(document, loop.target, edits.flat(document, part.target)),
            edits.replace(document, loop.iter, edits.flat(document, part.iter)),
        )
        repair = Repair(Way.EACH_IN_LOOP, (name,), (loop.lineno,))
        yield Fix.by(repair, Safety.SAFE, (begun, *header, new), preferred=True, rewrite=True)


def _behind(trace: Trace, site: Site) -> list[Event]:
    """What happened after the first step at a place."""
    steps = [each for each in trace.of(Stepped) if each.site.node is site.node and each.site.loops == site.loops]
    places = [index for index, event in enumerate(trace.events) if event is next(iter(steps), None)]
    return trace.events[places[0] :] if places else trace.events


def _copied(document: Document, found: Sequence[ast.stmt], place: ast.stmt, *, behind: bool) -> Edit | None:
    texts = [edits.lines_to_move(document, each) for each in found]
    lines = [line for text in texts for line in text or ()]
    if any(text is None for text in texts):
        return None
    insert = edits.insert_after if behind else edits.insert_before
    return insert(document, place, *lines)
