/** What the forge knows about a pull request, as far as the client told the service. */
import type { PullRequest } from "../lib/types";

export interface About {
  title: string;
  source_branch: string;
  author: string;
  /** The pull request's address on its forge. */
  url: string;
}

/** Unknown facts are empty. Older services know none. */
export const aboutOf = (pull: PullRequest & Partial<About>): About => ({
  title: pull.title ?? "",
  source_branch: pull.source_branch ?? "",
  author: pull.author ?? "",
  url: /^https?:\/\//i.test(pull.url ?? "") ? (pull.url ?? "") : "",
});

/** "#4 Fix the cart" */
export const heading = (prNumber: number, title: string): string => `#${prNumber} ${title}`.trim();

const FORGES = [
  ["github", "GitHub"],
  ["gitlab", "GitLab"],
  ["bitbucket", "Bitbucket"],
  ["codeberg", "Codeberg"],
  ["forgejo", "Forgejo"],
  ["gitea", "Gitea"],
] as const;

/** The words of the link to the forge. */
export function openLabel(url: string): string {
  const host = URL.canParse(url) ? new URL(url).hostname.toLowerCase() : "";
  const forge = FORGES.find(([part]) => host.split(/[.-]/).includes(part));
  return forge ? `Open on ${forge[1]}` : "Open pull request";
}
