import type { Role } from "./types";

/** From the least to the most. Each role includes those before it. */
export const ROLES: readonly Role[] = ["viewer", "reviewer", "maintainer", "owner"];

/** What a member with each role may do. */
export const ROLE_TEXTS: Record<Role, { label: string; may: string }> = {
  viewer: { label: "Viewer", may: "looks at screenshots" },
  reviewer: { label: "Reviewer", may: "also approves and rejects changes" },
  maintainer: { label: "Maintainer", may: "also manages projects, tokens and retention, and deletes images" },
  owner: { label: "Owner", may: "also manages members, webhooks and connections, and reads the audit log" },
};

export const includesRole = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);
