import { useRef } from "preact/hooks";
import { auth } from "../lib/api";
import { Link, navigate } from "../lib/router";
import { useSignal } from "../lib/signal";
import { chooseTheme, THEMES, theme } from "../lib/theme";
import type { Me, User } from "../lib/types";
import { DownIcon, Mark, toast, useAction } from "../ui";

export function Header({ me }: { me: Me | undefined }) {
  return (
    <header class="header">
      <div class="header-inner">
        <Link href="/" class="wordmark">
          <Mark /> prshots
        </Link>
        {me && (
          <>
            <nav class="header-nav" aria-label="Organizations">
              {me.organizations.map(({ id, name }) => (
                <Link key={id} href={`/organizations/${id}`}>
                  {name}
                </Link>
              ))}
            </nav>
            <AccountMenu me={me} />
          </>
        )}
      </div>
    </header>
  );
}

function AccountMenu({ me }: { me: Me }) {
  const menu = useRef<HTMLDivElement>(null);
  const action = useAction();
  const signOut = (path: string, message: string) =>
    action.run(async () => {
      await auth("POST", path);
      navigate("/sign-in");
      toast(message);
    });
  return (
    <div class="account">
      <button type="button" class="account-button" popovertarget="account-menu">
        <Avatar user={me.user} />
        <span class="account-login">{me.user.login}</span>
        <DownIcon />
      </button>
      <div ref={menu} id="account-menu" class="menu" popover="auto">
        <p class="menu-who">
          <strong>{me.user.name || me.user.login}</strong>
          <span>
            {me.user.login}
            {me.user.provider && `, signed in with ${me.user.provider}`}
          </span>
        </p>
        <ul class="menu-organizations">
          {me.organizations.map(({ id, name }) => (
            <li key={id}>
              <Link href={`/organizations/${id}`} onClick={() => menu.current?.hidePopover()}>
                {name}
              </Link>
            </li>
          ))}
        </ul>
        {me.operator && (
          <ul>
            <li>
              <Link href="/installation" onClick={() => menu.current?.hidePopover()}>
                Installation
              </Link>
            </li>
          </ul>
        )}
        <ThemeSwitch />
        <ul>
          <li>
            <button type="button" onClick={() => signOut("/sign-out", "You’re signed out.")}>
              Sign out
            </button>
          </li>
          <li>
            <button
              type="button"
              onClick={() => signOut("/sign-out-everywhere", "You’re signed out in every browser.")}
            >
              Sign out everywhere
            </button>
          </li>
        </ul>
      </div>
    </div>
  );
}

const THEME_LABELS = { system: "System", light: "Light", dark: "Dark" };

function ThemeSwitch() {
  const current = useSignal(theme);
  return (
    <fieldset class="menu-theme">
      <legend>Theme</legend>
      <div class="choice">
        {THEMES.map((each) => (
          <button key={each} type="button" aria-pressed={each === current} onClick={() => chooseTheme(each)}>
            {THEME_LABELS[each]}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

/** The user's avatar, or the first letter of their login. */
export function Avatar({ user }: { user: Pick<User, "avatar_url" | "login"> }) {
  if (user.avatar_url) {
    return <img class="avatar" src={user.avatar_url} alt="" width="24" height="24" loading="lazy" />;
  }
  return (
    <span class="avatar" aria-hidden="true">
      {user.login.charAt(0).toUpperCase()}
    </span>
  );
}
