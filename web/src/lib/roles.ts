import type { Role } from "./types";

/** From the least to the most. Each role includes those before it. */
export const ROLES: readonly Role[] = ["viewer", "reviewer", "maintainer", "owner"];

interface RoleText {
  label: string;
  /** With its article: "a viewer". */
  one: string;
  /** What a member with this role may do. */
  may: string;
}

export const ROLE_TEXTS: Record<Role, RoleText> = {
  viewer: { label: "Viewer", one: "a viewer", may: "Sees screenshots, comparisons and usage." },
  reviewer: {
    label: "Reviewer",
    one: "a reviewer",
    may: "Also approves and rejects changes, and quarantines screenshots.",
  },
  maintainer: {
    label: "Maintainer",
    one: "a maintainer",
    may: "Also manages projects, tokens, retention and share links, and deletes screenshots.",
  },
  owner: {
    label: "Owner",
    one: "an owner",
    may: "Also manages members, connections and webhooks, reads the audit log, and deletes projects.",
  },
};

export const includesRole = (role: Role, needed: Role): boolean =>
  ROLES.indexOf(role) >= ROLES.indexOf(needed);
