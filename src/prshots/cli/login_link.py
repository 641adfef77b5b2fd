"""`prshots login-link`: sign in to the dashboard without a login provider."""

from prshots.cli.common import ConfigOption, run_with, say, settings_from


def login_link(config: ConfigOption = None) -> None:
    """Print a link that signs you in to the dashboard. It works once, within 10 minutes."""
    from prshots.server.wiring.sign_in import open_sign_in

    settings = settings_from(config)
    code = run_with(open_sign_in(settings), lambda signin: signin.make_link())
    print(f"{settings.web_url}/sign-in#{code}")  # after the #, so it reaches no server and no log
    say("Open it in a browser within 10 minutes. It works once and signs you in as the operator.")
