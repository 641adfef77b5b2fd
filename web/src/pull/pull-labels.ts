/** Labels for a pull request and its link to the forge. */

/** "#4 Fix the cart" */
export const pullHeading = (prNumber: number, title: string): string => `#${prNumber} ${title}`.trim();

const FORGES = [
  ["github", "GitHub"],
  ["gitlab", "GitLab"],
  ["bitbucket", "Bitbucket"],
  ["codeberg", "Codeberg"],
  ["forgejo", "Forgejo"],
  ["gitea", "Gitea"],
] as const;

/** "Open on GitHub", or "Open pull request" if the URL doesn't name the forge. */
export function forgeLinkLabel(url: string): string {
  const host = URL.canParse(url) ? new URL(url).hostname.toLowerCase() : "";
  const forge = FORGES.find(([part]) => host.split(/[.-]/).includes(part));
  return forge ? `Open on ${forge[1]}` : "Open pull request";
}
