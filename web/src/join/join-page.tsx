/** An invitation link: what it offers, and one button. */
import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../lib/api";
import { useLive } from "../lib/live";
import { ROLE_TEXTS } from "../lib/roles";
import { Link, navigate } from "../lib/router";
import type { Me, Offer } from "../lib/types";
import { Button, FailedPage, Loading, PageHead, toast, useAction } from "../ui";
import { forgetJoinCode, readJoinCode } from "./join-code";

export function JoinPage() {
  const [code, setCode] = useState(readJoinCode);
  useEffect(() => {
    const again = () => setCode(readJoinCode()); // a second link pasted into the same tab
    window.addEventListener("hashchange", again);
    return () => window.removeEventListener("hashchange", again);
  }, []);
  if (code === "")
    return (
      <PageHead title="Join an organization">
        Open the invitation link that you received. If you already did, open it again.
      </PageHead>
    );
  return <JoinWith key={code} code={code} />;
}

function JoinWith({ code }: { code: string }) {
  const me = useLive<Me>("/me");
  const { offer, failure, ask } = useOffer(code);
  const action = useAction({ inPlace: true });
  const join = () =>
    action.run(async () => {
      const { organization } = await send<Offer>("POST", "/join", { code });
      forgetJoinCode();
      await me.refresh();
      toast(`You joined ${organization.name}.`);
      navigate(`/organizations/${organization.id}`, { replace: true });
    });
  if (failure?.status === 404) return <PageHead title="This link doesn’t work">{failure.message}</PageHead>;
  if (failure) return <FailedPage error={failure} retry={ask} />;
  if (!offer) return <Loading rows={2} />;
  const { organization, role, created_by } = offer;
  if (offer.is_member)
    return (
      <>
        <PageHead title={`Join ${organization.name}`}>
          You’re already a member. The link stays valid for somebody else.
        </PageHead>
        <p>
          <Link href={`/organizations/${organization.id}`}>Go to {organization.name}</Link>
        </p>
      </>
    );
  return (
    <>
      <PageHead title={`Join ${organization.name}`}>{created_by} invites you.</PageHead>
      <div class="stack">
        <p>You join as {ROLE_TEXTS[role].one}. Members see your login and your name.</p>
        <div class="actions">
          <Button kind="primary" busy={action.busy} onClick={join}>
            Join
          </Button>
        </div>
        {action.problem && (
          <p class="field-error" role="alert">
            {action.problem}
          </p>
        )}
      </div>
    </>
  );
}

/** What the link offers, or why it doesn't. */
function useOffer(code: string) {
  const [offer, setOffer] = useState<Offer>();
  const [failure, setFailure] = useState<ApiError>();
  const ask = () => {
    setFailure(undefined);
    send<Offer>("POST", "/join/offer", { code })
      .then(setOffer)
      .catch((error: unknown) => {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 404) forgetJoinCode();
        setFailure(error);
      });
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: asks once
  useEffect(ask, []);
  return { offer, failure, ask };
}
