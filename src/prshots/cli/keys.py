"""`prshots keys`: the keys that sign image URLs."""

from typing import Annotated

import typer

from prshots.cli.common import ConfigOption, JsonOption, print_json, print_table, say, settings_from

app = typer.Typer(help="List, rotate and retire the keys that sign image URLs.", no_args_is_help=True)


@app.command("list")
def list_keys(*, as_json: JsonOption = False, config: ConfigOption = None) -> None:
    """List the keys by name, never their secrets."""
    from prshots.server.wiring import key_source

    ring = key_source(settings_from(config)).ring()
    rows = [
        (key.kid, "signs and verifies" if key.kid == ring.signing_kid else "verifies") for key in ring.keys
    ]
    if as_json:
        print_json([{"kid": kid, "signs": kid == ring.signing_kid} for kid, _ in rows])
    else:
        print_table(["KID", "USE"], rows)


@app.command()
def rotate(config: ConfigOption = None) -> None:
    """Make a new key that signs from now on. URLs signed before stay valid."""
    from prshots.server.wiring import key_file, key_source

    settings = settings_from(config)
    key_source(settings)
    kid = key_file(settings).rotate()
    say(f"Key {kid} signs from now on; a running service takes it up within 10 seconds.")


@app.command()
def retire(
    kid: Annotated[str, typer.Argument(metavar="KID", help="The key's name, from `prshots keys list`.")],
    config: ConfigOption = None,
) -> None:
    """Remove a key. Every URL signed with it stops working within 10 seconds."""
    import asyncio

    from prshots.server.wiring import key_file, key_source, open_records

    settings = settings_from(config)
    key_source(settings)

    async def images_signed() -> int:
        records = open_records(settings)
        try:
            return await records.count_signed_with(kid)
        finally:
            await records.close()

    images = asyncio.run(images_signed())  # first: after the key has gone, nothing should fail any more
    key_file(settings).retire(kid)
    say(
        f"Key {kid} is gone. The URLs of {images} images were signed with it; fetch the comments of their "
        "pull requests again to get new ones."
    )
