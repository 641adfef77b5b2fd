/** What the sign-in page knows without asking. Pure. */

const PROBLEMS: Record<string, string> = {
  denied: "The sign-in was cancelled. Try again when you are ready.",
  expired: "That sign-in took too long, or was used already. Begin again.",
  other_browser: "That sign-in was begun in another browser. Begin again in this one.",
  not_allowed: "You are signed in there, but not allowed in here. Ask whoever runs this service to add you.",
  provider_failed: "The provider did not answer as it should. Try again in a minute.",
};

export function problemInWords(problem: string | null): string | undefined {
  if (problem === null) return undefined;
  return PROBLEMS[problem] ?? "The sign-in did not work. Begin again.";
}

/** Where to go after signing in: a path of this dashboard, whatever the address says. */
export function returnPath(asked: string | null): string {
  if (asked === null || !/^\/(?![/\\])/.test(asked) || asked.startsWith("/sign-in")) return "/";
  return asked;
}

export function loginAddress(webUrl: string, provider: string, returnTo: string): string {
  const query = new URLSearchParams({ return_to: returnTo });
  return `${webUrl}/auth/login/${encodeURIComponent(provider)}?${query}`;
}
