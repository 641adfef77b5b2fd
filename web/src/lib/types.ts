/** What the dashboard API answers with. Times are Unix seconds; sizes are bytes. */

export type Role = "owner" | "member";
export type Policy = "pr_close" | "retain_days" | "manual";

export interface User {
  id: string;
  login: string;
  name: string;
  /** Empty when there is none, or none that the page may load. */
  avatar_url: string;
  provider: string;
}

export interface Organization {
  id: string;
  name: string;
  personal: boolean;
  role: Role;
}

export interface Service {
  base_url: string;
  img_url: string;
  web_url: string;
  max_image_bytes: number;
  uploads_per_minute: number;
  /** The OpenID issuers that a project may trust, as their addresses. */
  trusted_issuers: string[];
  version: string;
}

export interface Me {
  user: User;
  organizations: Organization[];
  service: Service;
}

export interface Project {
  id: string;
  name: string;
  organization: { id: string; name: string };
  /** The signed-in person's role in its organization. */
  role: Role;
  policy: Policy;
  retain_days: number | null;
  created_at: number;
  images: number;
  bytes: number;
  open_pulls: number;
  last_upload_at: number | null;
  /** The last 30 days, the oldest first, today last. */
  uploads_per_day: number[];
}

export interface Image {
  id: string;
  pr_number: number;
  name: string;
  viewport: string;
  commit_sha: string;
  type: "image/png" | "image/jpeg" | "image/webp";
  size: number;
  uploaded_at: number;
  url: string;
  markdown: string;
  /** null: not asked for yet. */
  thumbnail: "made" | "impossible" | null;
  thumbnail_url: string | null;
}

export interface PullRequest {
  pr_number: number;
  images: number;
  bytes: number;
  last_upload_at: number;
  last_commit: string;
  closed_at: number | null;
}

export interface ListedPullRequest extends PullRequest {
  /** Up to four, the newest first. */
  newest: Image[];
}

/** A place in the gallery: the newest image of one name and viewport. */
export interface Shot {
  newest: Image;
  count: number;
}

export interface Comment {
  markdown: string;
  html: string;
}

export interface Token {
  id: string;
  label: string;
  hint: string;
  created_at: number;
  /** A login; empty for the command line. */
  created_by: string;
  last_used_at: number | null;
  revoked_at: number | null;
}

export interface NewToken {
  token: Token;
  secret: string;
}

/** Jobs whose ID token is from this issuer and carries these claims may upload without a token. */
export interface Trust {
  id: string;
  issuer: string;
  claims: Record<string, string>;
  created_at: number;
  /** A login; empty for the command line. */
  created_by: string;
  last_used_at: number | null;
}

export interface DayOfUploads {
  /** Like 2026-11-15. */
  day: string;
  uploads: number;
  bytes: number;
}

export interface Usage {
  /** Every day of the time asked for, the oldest first. */
  days: DayOfUploads[];
  images: number;
  bytes: number;
  biggest: PullRequest[];
}

export interface Member extends User {
  role: Role;
  you: boolean;
}

export interface Providers {
  providers: { id: string; label: string }[];
  /** The address of this dashboard; a sign-in has to begin there. */
  web_url: string;
}
