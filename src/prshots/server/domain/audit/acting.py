"""Who is acting now. The edge sets it once: per request, or per command.

A context variable, because nearly every write records its actor, and no rule depends on it.
"""

from contextvars import ContextVar
from dataclasses import replace

from prshots.server.domain.audit.models import Actor, ActorKind

_NOBODY = Actor()
_ACTOR = ContextVar("actor", default=_NOBODY)


def current_actor() -> Actor:
    return _ACTOR.get()


def act_from(address: str) -> None:
    """Set the address that the current request came from. Nobody is known to act yet."""
    _ACTOR.set(Actor(address=address))


def act_as(kind: ActorKind, actor_id: str, name: str) -> None:
    """Set who acts in the current request or command. Keeps the address."""
    _ACTOR.set(replace(_ACTOR.get(), kind=kind, id=actor_id, name=name))
