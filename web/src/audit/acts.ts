/** The words for acts in the audit log, and the filters in the page's URL. */

import type { Action, AuditEntry } from "../lib/types";

const ACTS: Record<Action, string> = {
  "person.signed_in": "signed in",
  "sign_in_link.created": "created a sign-in link for",
  "organization.created": "created the organization",
  "organization.deleted": "deleted the organization",
  "member.invited": "invited",
  "member.joined": "added the member",
  "member.role_changed": "changed the role of",
  "member.removed": "removed the member",
  "invitation.withdrawn": "withdrew the invitation for",
  "invitation_link.created": "created an invitation link",
  "invitation_link.revoked": "revoked an invitation link",
  "group.added": "added the group",
  "group.removed": "removed the group",
  "project.created": "created the project",
  "project.changed": "changed the settings of",
  "project.deleted": "deleted the project",
  "token.created": "created the token",
  "token.revoked": "revoked the token",
  "trust.added": "added a trust for jobs of",
  "trust.removed": "removed a trust for jobs of",
  "trust.unpinned": "reset the pin of a trust for jobs of",
  "image.deleted": "deleted the image",
  "pull_request.closed": "closed pull request",
  "pull_request.deleted": "deleted the images of pull request",
  "pull_request.author_changed": "changed the author of pull request",
  "decision.made": "decided about changes in pull request",
  "quarantine.started": "put into quarantine",
  "quarantine.ended": "ended the quarantine of",
  "connection.set": "connected the repository",
  "connection.removed": "disconnected the repository",
  "webhook.created": "created the webhook",
  "webhook.changed": "changed the webhook",
  "webhook.secret_rotated": "rotated the secret of the webhook",
  "webhook.deleted": "deleted the webhook",
  "webhook.tested": "sent a test message to the webhook",
  "webhook.redelivered": "resent a message to the webhook",
  "share_link.created": "created a share link for pull request",
  "share_link.revoked": "revoked a share link for pull request",
  "quota.changed": "changed the storage quota of",
  "key.created": "created the signing key",
  "key.rotated": "rotated the signing keys. The new key is",
  "key.retired": "removed the signing key",
  "installation.move_started": "started to move the installation to",
  "installation.move_canceled": "canceled the move to",
  "installation.restored": "restored the backup",
  "sweep.deleted": "deleted expired images or leftover files",
};

const OWN_ACTS: Partial<Record<Action, string>> = {
  "member.joined": "joined",
  "member.removed": "left",
};

/** Entries from another version may have an act that this page doesn't know. */
export function describeAct({ action, actor, target }: AuditEntry): string {
  if (action === "image.deleted" && !target) return "deleted images"; // a project's, when it is deleted
  const own = actor.name === target ? OWN_ACTS[action as Action] : undefined;
  return own ?? ACTS[action as Action] ?? action;
}

/** The subjects of acts, for the filter. */
export const SUBJECTS: readonly (readonly [subject: string, label: string])[] = [
  ["person", "Sign-ins"],
  ["sign_in_link", "Sign-in links"],
  ["organization", "Organizations"],
  ["member", "Members"],
  ["invitation", "Invitations"],
  ["invitation_link", "Invitation links"],
  ["group", "Groups"],
  ["project", "Projects and settings"],
  ["token", "Tokens"],
  ["trust", "Trusts"],
  ["image", "Deleted images"],
  ["pull_request", "Pull requests"],
  ["decision", "Decisions"],
  ["quarantine", "Quarantine"],
  ["connection", "Connections"],
  ["webhook", "Webhooks"],
  ["share_link", "Share links"],
  ["quota", "Quotas"],
  ["key", "Signing keys"],
  ["installation", "Moves and restores"],
  ["sweep", "Sweeps"],
];

const PARTS = ["actor", "action", "target", "pr_number", "project_id", "since", "until"] as const;

export type AuditFilter = Record<(typeof PARTS)[number], string>;

export function auditFilterFrom(query: URLSearchParams): AuditFilter {
  const parts = PARTS.map((part) => [part, query.get(part) ?? ""]);
  return Object.fromEntries(parts) as AuditFilter;
}

/** The query for the page and the API, without empty parts. */
export function auditQuery(filter: AuditFilter): string {
  const given = PARTS.filter((part) => filter[part]).map((part): [string, string] => [part, filter[part]]);
  return given.length > 0 ? `?${new URLSearchParams(given)}` : "";
}
