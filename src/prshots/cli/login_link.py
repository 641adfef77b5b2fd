"""`prshots login-link`: sign in to the dashboard without a login provider."""

from typing import TYPE_CHECKING

from prshots.cli.common import ConfigOption, run_with, say, settings_from

if TYPE_CHECKING:
    from prshots.server.config.settings import Settings


def login_link(config: ConfigOption = None) -> None:
    """Print a link that signs you in to the dashboard. It works once, within 10 minutes."""
    print(new_link(settings_from(config)))
    say("Open it in a browser within 10 minutes. It works once and signs you in as the operator.")


def new_link(settings: "Settings") -> str:
    from prshots.server.wiring.sign_in import open_sign_in

    code = run_with(open_sign_in(settings), lambda signin: signin.make_link())
    return f"{settings.web_url}/sign-in#{code}"  # after the #, so it reaches no server and no log
