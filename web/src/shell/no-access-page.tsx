import { auth, signInPath } from "../lib/api";
import { useMe } from "../lib/me";
import { Link, navigate } from "../lib/router";
import { Invitations } from "../organization/invitations";
import { Button, CopyButton, Mono, PageHead, useAction } from "../ui";

/** For a project or organization that doesn't exist or that isn't the user's: the page can't tell which. */
export function NoAccessPage({ what }: { what: "project" | "organization" }) {
  const { user } = useMe();
  const account = user.provider === "local" ? user.login : `${user.provider}:${user.login}`;
  const action = useAction();
  const switchAccount = () =>
    action.run(async () => {
      const { pathname, search } = window.location;
      await auth("POST", "/sign-out");
      navigate(signInPath(pathname + search));
    });
  return (
    <>
      <PageHead title="Not found">
        This {what} doesn’t exist, or you aren’t a member of {what === "project" ? "its organization" : "it"}.
      </PageHead>
      <Invitations />
      <div class="stack">
        <p>
          You’re signed in as <Mono>{account}</Mono> <CopyButton text={account} label="Copy account" quiet />
        </p>
        <p>
          To get access, ask an owner of the organization, or whoever sent you the link, to invite this
          account. The invitation then appears here. If you have access with another account, switch to it.
        </p>
        <div class="actions">
          <Button busy={action.busy} onClick={switchAccount}>
            Switch account
          </Button>
        </div>
        <p>
          <Link href="/">Go to your projects</Link>
        </p>
      </div>
    </>
  );
}
