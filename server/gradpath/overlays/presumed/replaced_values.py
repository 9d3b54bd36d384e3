"""What an unseen call gives that is bound where something was that it was given: it is of the same kind, as a rule."""

from __future__ import annotations

from gradpath.interpreter.kinds import Kind
from gradpath.interpreter.origins import Call, Item
from gradpath.interpreter.values import Instance, Unknown, Value
from gradpath.overlays.presumed.roles import role_of


def is_of_object(value: Unknown, before: Value) -> bool:
    """True if an unseen call was handed an object, and what it gives is bound where that was."""
    is_object = isinstance(before, Instance) or (isinstance(before, Unknown) and before.is_object)
    whole = value.origin.of if isinstance(value.origin, Item) else value
    made = whole.origin if isinstance(whole, Unknown) else None
    return is_object and isinstance(made, Call) and any(each is before for each in made.arguments)


def is_of_data(value: Unknown, before: Value) -> bool:
    """True if something of no known role made a value of data and more, which is bound where the data was."""
    made = value.origin
    if not isinstance(made, Call) or not made.arguments or made.arguments[0] is not before or len(made.arguments) < 2:
        return False
    plain = isinstance(before, Unknown) and before.kind is Kind.PLAIN and before.tensor is None
    return plain and isinstance(made.of, Unknown) and not role_of(made.of)
