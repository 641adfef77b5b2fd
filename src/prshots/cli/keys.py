"""`prshots keys`: the keys that sign image URLs."""

from typing import Annotated

import typer

from prshots.cli.common import (
    ConfigOption,
    JsonOption,
    Sections,
    print_json,
    print_table,
    record_act,
    run_with,
    say,
    settings_from,
)

app = typer.Typer(
    cls=Sections, help="List, rotate and remove the keys that sign image URLs.", no_args_is_help=True
)


@app.command("list")
def list_keys(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List the signing keys by id, without their secrets."""
    from prshots.server.wiring import existing_keys

    ring = existing_keys(settings_from(config)).ring()
    rows = [
        (key.kid, "signs and verifies" if key.kid == ring.signing_kid else "verifies") for key in ring.keys
    ]
    if as_json:
        print_json([{"kid": kid, "signs": kid == ring.signing_kid} for kid, _ in rows])
    else:
        print_table(["KID", "USE"], rows)


@app.command()
def create(config: ConfigOption = None) -> None:
    """Create the key file with a first key. For a new installation, or if the keys are lost.

    With PRSHOTS_SIGNING_KEYS, registers new keys from there.
    """
    from prshots.contract.errors import ConflictError
    from prshots.server.domain.audit.models import Action
    from prshots.server.wiring import existing_keys, key_file, open_fingerprints

    settings = settings_from(config)
    with open_fingerprints(settings) as fingerprints:
        if settings.signing_keys:
            ring = existing_keys(settings).ring()
            fingerprints.register(ring)
            record_act(settings, Action.KEY_CREATED, ring.signing_kid)
            say("Registered the keys in PRSHOTS_SIGNING_KEYS. Restart every API with them.")
            return
        keys = key_file(settings)
        if not keys.create_if_missing(fingerprints.used_kids()):
            raise ConflictError(
                f"{keys.path} exists: run `prshots keys rotate` to add a key to it, or move it away if it "
                "is the wrong file"
            )
        fingerprints.register(keys.ring())
    kid = keys.ring().signing_kid
    record_act(settings, Action.KEY_CREATED, kid)
    say(f"Created {keys.path} with key {kid}. Every machine needs this file: copy it there.")


@app.command()
def rotate(config: ConfigOption = None) -> None:
    """Create a new signing key. URLs signed with older keys stay valid."""
    from prshots.server.domain.audit.models import Action
    from prshots.server.wiring import encrypt_secrets_again, key_file, open_fingerprints, use_database

    settings = settings_from(config)
    keys = key_file(settings)
    ring = keys.ring()
    with open_fingerprints(settings) as fingerprints:
        fingerprints.agree(ring)  # first, to leave a wrong key file unchanged
        kid = keys.rotate(fingerprints.used_kids())
        fingerprints.agree(keys.fresh_ring())
    run_with(use_database(settings), lambda database: encrypt_secrets_again(database, keys.fresh_ring))
    record_act(settings, Action.KEY_ROTATED, kid)
    say(f"Key {kid} signs new URLs. A running service starts using it within 10 s.")


@app.command()
def retire(
    kid: Annotated[str, typer.Argument(metavar="KID", help="The key's id, from `prshots keys list`.")],
    config: ConfigOption = None,
) -> None:
    """Remove a signing key. URLs signed with it stop working within 10 s."""
    import asyncio

    from prshots.contract.errors import ConflictError
    from prshots.server.domain.audit.models import Action
    from prshots.server.wiring import count_signed_with, key_file, kids_of_secrets, use_database

    settings = settings_from(config)
    keys = key_file(settings)
    older = {key.kid for key in keys.ring().keys[1:]}  # reports a missing or invalid file
    if kid in older & run_with(use_database(settings), kids_of_secrets):
        raise ConflictError(
            f"key {kid!r} encrypts tokens of connections or secrets of webhooks: run `prshots sweep`, which "
            "encrypts them with the first key"
        )
    images = asyncio.run(count_signed_with(settings, kid))  # first: a database error leaves the key in place
    keys.retire(kid)
    record_act(settings, Action.KEY_RETIRED, kid)
    say(
        f"Removed key {kid}. The URLs of {images:,} images were signed with it and no longer work. Fetch the "
        "comments of their pull requests again to get new URLs."
    )
