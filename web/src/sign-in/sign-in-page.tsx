import { useEffect, useState } from "preact/hooks";
import { ApiError, auth, get } from "../lib/api";
import { forgetAll } from "../lib/live";
import { navigate, useLocation } from "../lib/router";
import type { Me, Providers } from "../lib/types";
import { Loading, Mark, Mono, PageHead } from "../ui";
import { ContactSheet } from "./contact-sheet";
import { describeProblem, loginUrl, returnPath } from "./sign-in-urls";

const RETRY_MS = 3_000;

export function SignInPage() {
  const { query } = useLocation();
  const returnTo = returnPath(query.get("return_to"));
  const { providers, failure } = useProviders();
  const link = useOneTimeLink(returnTo);
  const problem = link.problem ?? describeProblem(query.get("problem"));
  useEffect(forgetAll, []);
  useAlreadySignedIn(returnTo, problem !== undefined || link.underWay);
  return (
    <div class="sign-in">
      <main id="main" class="sign-in-panel" tabIndex={-1}>
        <p class="wordmark">
          <Mark /> prshots
        </p>
        <PageHead title="Sign in">See the screenshots of your pull requests.</PageHead>
        {problem && (
          <p class="warning" role="alert">
            {problem}
          </p>
        )}
        {failure && !providers && (
          <p class="warning" role="alert">
            {failure.message} Retrying…
          </p>
        )}
        {link.underWay && <p role="status">Signing you in…</p>}
        {!providers && !failure && <Loading rows={2} />}
        {providers && !link.underWay && <SignInOptions providers={providers} returnTo={returnTo} />}
      </main>
      <ContactSheet />
    </div>
  );
}

function SignInOptions({
  providers: { providers, web_url },
  returnTo,
}: {
  providers: Providers;
  returnTo: string;
}) {
  const elsewhere = web_url !== window.location.origin;
  return (
    <>
      {providers.length > 0 ? (
        <ul class="providers">
          {providers.map(({ id, label }) => (
            <li key={id}>
              <a
                class={`button ${providers.length === 1 ? "primary" : "plain"}`}
                href={loginUrl(web_url, id, returnTo)}
              >
                Continue with {label}
              </a>
            </li>
          ))}
        </ul>
      ) : (
        <OneTimeLinkHelp />
      )}
      {elsewhere && providers.length > 0 && (
        <p class="quiet small">
          This dashboard’s address is <a href={web_url}>{web_url}</a>. You opened {window.location.origin}, so
          sign-in continues there.
        </p>
      )}
    </>
  );
}

function OneTimeLinkHelp() {
  return (
    <div class="stack">
      <p>
        No login provider is configured, so you sign in with a one-time link. The service printed one when it
        started. To create another, run this on the server:
      </p>
      <pre class="command">
        <code>prshots login-link</code>
      </pre>
      <p class="quiet small">
        A link works once and expires after 10 minutes. To sign in with GitHub, GitLab, Gitea or an OpenID
        issuer, see <Mono>docs/run/sign-in.md</Mono>.
      </p>
    </div>
  );
}

/** The login providers. Retries while the service does not respond. */
function useProviders(): { providers: Providers | undefined; failure: ApiError | undefined } {
  const [providers, setProviders] = useState<Providers>();
  const [failure, setFailure] = useState<ApiError>();
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        setProviders(await auth<Providers>("GET", "/providers"));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        setFailure(error);
        timer = setTimeout(ask, RETRY_MS);
      }
    };
    void ask();
    return () => clearTimeout(timer);
  }, []);
  return { providers, failure };
}

/** Signs in with the code after the # of a one-time link, and removes it from the address bar at once. */
function useOneTimeLink(returnTo: string) {
  const [code, setCode] = useState(takeCode);
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    const again = () => setCode((known) => takeCode() || known);
    window.addEventListener("hashchange", again); // a second link pasted into the same tab
    return () => window.removeEventListener("hashchange", again);
  }, []);
  useEffect(() => {
    if (code === "") return;
    auth("POST", "/link", { code })
      .then(() => navigate(returnTo, { replace: true }))
      .catch((error: unknown) => {
        setCode("");
        setProblem(error instanceof ApiError ? error.message : String(error));
      });
  }, [code, returnTo]);
  return { underWay: code !== "", problem };
}

function takeCode(): string {
  const code = window.location.hash.slice(1);
  if (code === "" || code === "main") return "";
  window.history.replaceState(window.history.state, "", window.location.pathname + window.location.search);
  return code;
}

/** Skip this page if there is a valid session, even one started in another tab. */
function useAlreadySignedIn(returnTo: string, stay: boolean): void {
  useEffect(() => {
    if (stay) return;
    const goOn = () => {
      if (document.hidden) return;
      get<Me>("/me").then(
        () => navigate(returnTo, { replace: true }),
        () => undefined, // not signed in: that is what this page is for
      );
    };
    goOn();
    document.addEventListener("visibilitychange", goOn);
    return () => document.removeEventListener("visibilitychange", goOn);
  }, [returnTo, stay]);
}
