/** Messages and URLs of the sign-in page. Pure. */

const PROBLEMS: Record<string, string> = {
  denied: "You canceled the sign-in. Try again when you’re ready.",
  expired: "The sign-in expired or was already used. Start again.",
  other_browser: "The sign-in was started in another browser. Start again in this one.",
  not_allowed:
    "Your account is not allowed to use this service. Ask its administrator to add you: the service’s log names the account that it refused.",
  provider_failed: "The login provider did not respond correctly. Try again in a minute.",
};

export function describeProblem(problem: string | null): string | undefined {
  if (problem === null) return undefined;
  return PROBLEMS[problem] ?? "The sign-in failed. Start again.";
}

/** Where to go after sign-in: always a path of this dashboard. */
export function returnPath(requested: string | null): string {
  if (requested === null || !/^\/(?![/\\])/.test(requested) || requested.startsWith("/sign-in")) return "/";
  return requested;
}

export function loginUrl(webUrl: string, provider: string, returnTo: string): string {
  const query = new URLSearchParams({ return_to: returnTo });
  return `${webUrl}/auth/login/${encodeURIComponent(provider)}?${query}`;
}
