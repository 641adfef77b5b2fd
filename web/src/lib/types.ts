/**
 * The replies of the dashboard API. Times are Unix seconds; sizes are bytes.
 *
 * Generated from src/prshots/server/api: change the types there and run `make format`.
 */

export type Action =
  | "person.signed_in"
  | "sign_in_link.created"
  | "organization.created"
  | "organization.deleted"
  | "member.invited"
  | "member.joined"
  | "member.role_changed"
  | "member.removed"
  | "invitation.withdrawn"
  | "invitation_link.created"
  | "invitation_link.revoked"
  | "group.added"
  | "group.removed"
  | "project.created"
  | "project.changed"
  | "project.deleted"
  | "token.created"
  | "token.revoked"
  | "trust.added"
  | "trust.removed"
  | "trust.unpinned"
  | "image.deleted"
  | "pull_request.closed"
  | "pull_request.deleted"
  | "pull_request.author_changed"
  | "decision.made"
  | "quarantine.started"
  | "quarantine.ended"
  | "connection.set"
  | "connection.removed"
  | "webhook.created"
  | "webhook.changed"
  | "webhook.secret_rotated"
  | "webhook.deleted"
  | "webhook.tested"
  | "webhook.redelivered"
  | "share_link.created"
  | "share_link.revoked"
  | "quota.changed"
  | "key.created"
  | "key.rotated"
  | "key.retired"
  | "installation.move_started"
  | "installation.move_canceled"
  | "installation.restored"
  | "sweep.deleted";
export type ActorKind = "person" | "token" | "operator" | "service";
export type Role = "viewer" | "reviewer" | "maintainer" | "owner";
export type Policy = "pr_close" | "retain_days" | "manual";
export type Verdict = "changed" | "moved" | "new" | "removed" | "failed" | "unchanged";
export type ComparisonState = "running" | "compared" | "no_baseline" | "incomplete" | "failed";
export type GroupKind =
  | "removed"
  | "single"
  | "same_pixels"
  | "inserted"
  | "new"
  | "moved"
  | "redrawn"
  | "recolored";
export type ReviewState = "open" | "approved" | "rejected" | "not_needed" | "quarantined" | "seen_before";
export type GateState = "passed" | "waiting" | "rejected" | "blocked";
export type CommitState = "success" | "pending" | "failure";
export type ForgeKind = "github" | "gitlab" | "gitea" | "bitbucket";
export type DeliveryKind = "status" | "comment";
export type Event = "compared" | "decided" | "gate" | "expired" | "quota" | "test";
export type Format = "standard" | "slack" | "teams";

/** Shots with the same change. */
export interface ShotGroup {
  /** The same change has the same id in later comparisons. */
  id: string;
  kind: GroupKind;
  shots: number;
  names: string[];
  /** What changed, in one line of plain text. */
  title: string;
}

/** A point in an image, as a share of its width and height from 0 to 1. */
export interface Pin {
  x: number;
  y: number;
}

/** The decision about a shot. */
export interface Review {
  state: ReviewState;
  /** The login of the person, or the label of the token. Empty without a decision. */
  by: string;
  /** A Unix time. */
  at: number | null;
  note: string;
  pin: Pin | null;
}

/** A note about an image that the shot no longer has. */
export interface OutdatedNote {
  name: string;
  viewport: string;
  theme: string;
  state: ReviewState;
  by: string;
  at: number;
  note: string;
  pin: Pin | null;
}

/** A commit status to post on the forge. */
export interface GateStatus {
  /** `prshots` for the pull request as a whole, `prshots/<project>` for a project of several. */
  context: string;
  state: CommitState;
  description: string;
}

/** Whether the pull request may be merged as far as its screenshots are concerned. */
export interface Gate {
  state: GateState;
  /** How many shots need a decision. */
  open: number;
  /** Why it is blocked: `running`, `incomplete`, `failed`, `no_baseline` or `not_compared`. Else empty. */
  reason: string;
  /** The statuses to post on the commit, and no others. Not present in the reply to a decision. */
  statuses?: GateStatus[];
}

/** The reply to decisions. */
export interface Decided {
  /** How many pairs. */
  decided: number;
  gate: Gate;
}

/** A part of a shot at full size, before on the left and after on the right. */
export interface CloseUp {
  url: string;
  /** Left, top, width and height, in pixels of the after image. */
  region: [number, number, number, number];
}

/** The part of a shot that belongs to a group. */
export interface ShotPart {
  group: string;
  /** Indexes of the shot's `regions`. */
  regions: number[];
  /** Indexes of what is `gone`. */
  gone: number[];
  /** The index of the close-up that shows this part best. Null if none does. */
  closeup: number | null;
  /** The state of this part. A shot is approved when each of its parts is. */
  review: ReviewState;
  /** Who decided about this part. */
  by: string[];
}

export interface Image {
  id: string;
  pr_number: number;
  name: string;
  viewport: string;
  /** light, dark or empty. */
  theme: string;
  commit_sha: string;
  /** The hash of the bytes. null if it wasn't recorded. */
  sha256: string | null;
  /** The content type: image/png, image/jpeg or image/webp. */
  type: string;
  /** 0 if the image shares the bytes of an earlier commit or a baseline. */
  size: number;
  uploaded_at: number;
  url: string;
  markdown: string;
  /** null if nobody has requested it yet. Otherwise `made`, or the reason why there is no thumbnail. */
  thumbnail: "made" | "damaged" | "unsupported" | "too_large" | null;
  thumbnail_url: string | null;
}

/** The baselines of a branch at a commit. */
export interface BaselineCommit {
  branch: string;
  commit_sha: string;
  complete: boolean;
  created_at: number;
  shots: number;
  bytes: number;
}

export interface BaselineList {
  branches: string[];
  commits: BaselineCommit[];
  next: string | null;
}

/** Consecutive commits of a branch at which a shot had the same image. */
export interface BaselinePeriod {
  image: Image;
  first_commit: string;
  first_at: number;
  last_commit: string;
  last_at: number;
  commits: number;
}

export interface BaselineHistory {
  /** Newest first. */
  periods: BaselinePeriod[];
  next: string | null;
}

/** An image that is staged until its branch has a pull request. */
export interface Staged {
  image: Image;
  before: Image | null;
  branch: string;
  /** The branch's repository, as owner/name. Empty for the project's own. */
  repository: string;
  expires_at: number;
}

export interface StagedList {
  /** Newest first. */
  staged: Staged[];
  next: string | null;
}

/** A shot that doesn't need decisions for a while. */
export interface Quarantine {
  id: string;
  name: string;
  viewport: string;
  theme: string;
  reason: string;
  /** A login. */
  created_by: string;
  created_at: number;
  until: number;
  /** How many commits of pull requests were compared since it began. */
  compared: number;
  /** At how many of these commits the shot differed. */
  differed: number;
}

export interface QuarantineList {
  /** In order of their end. */
  quarantines: Quarantine[];
}

export interface AlternatingPicture {
  pixels: string;
  /** null if it was deleted. */
  image: Image | null;
  /** When the branch last got this picture. */
  at: number;
}

/** A shot that alternated between pictures on a branch in the last 30 days. */
export interface AlternatingShot {
  name: string;
  viewport: string;
  theme: string;
  branch: string;
  pictures: AlternatingPicture[];
  /** How often the branch's picture changed in that time. */
  changes: number;
  /** When it last changed. */
  last_at: number;
}

export interface Noise {
  /** At most 100, those that changed last first. */
  shots: AlternatingShot[];
}

export interface PullRequest {
  pr_number: number;
  images: number;
  bytes: number;
  last_upload_at: number;
  last_commit: string;
  closed_at: number | null;
  /** Empty, like the branch, author and URL, until a client sends it. */
  title: string;
  source_branch: string;
  author: string;
  /** The pull request's page on the forge. */
  url: string;
  /** When a person deleted all its images, until the next upload. */
  deleted_at: number | null;
  deleted_by: string | null;
}

/** An organization or project, for the operator. */
export interface QuotaHolder {
  id: string;
  name: string;
  images: number;
  bytes: number;
  /** The quota that the operator set: 0 for no limit, null for the service's default. */
  quota_bytes: number | null;
}

/** A quota that applies, and how much of it is used. */
export interface QuotaUse {
  of: "organization" | "project";
  /** The stored bytes that count towards the quota. */
  bytes: number;
  limit: number;
}

export interface Actor {
  kind: ActorKind;
  /** A login, a token's label or the operator's account. Empty for the service. */
  name: string;
  /** The IP address, or empty outside requests. */
  address: string;
}

export interface AuditEntry {
  seq: number;
  at: number;
  actor: Actor;
  /** An action such as `token.created`. */
  action: string;
  target: string;
  project_id: string;
  /** The project's name at that time. Empty for acts outside a project. */
  project: string;
  details: Record<string, string>;
}

export interface AuditLog {
  entries: AuditEntry[];
  next: string | null;
}

export interface Token {
  id: string;
  label: string;
  hint: string;
  created_at: number;
  /** A login. Empty if the command line created the token. */
  created_by: string;
  last_used_at: number | null;
  expires_at: number | null;
  revoked_at: number | null;
  /** A login. Empty if the command line revoked the token, null if unknown. */
  revoked_by: string | null;
}

export interface Connection {
  forge: ForgeKind;
  api_url: string;
  repository: string;
  /** Whether it uses the operator's GitHub App instead of a token. */
  uses_app: boolean;
  /** A login. Empty if the command line created the connection. */
  created_by: string;
  created_at: number;
  /** Why it doesn't work, or empty. */
  problem: string;
}

export interface ConnectionReply {
  connection: Connection | null;
}

export interface TokenList {
  tokens: Token[];
  next: string | null;
}

export interface MemberToken extends Token {
  /** The project's name. */
  project: string;
}

export interface MemberTokens {
  /** The oldest valid tokens that a member created in the organization's projects. */
  tokens: MemberToken[];
}

export interface NewToken {
  token: Token;
  secret: string;
}

/** Lets CI jobs upload without a token if their ID token has this issuer and these claims. */
export interface Trust {
  id: string;
  issuer: string;
  claims: Record<string, string>;
  created_at: number;
  /** A login. Empty if the command line created the trust. */
  created_by: string;
  last_used_at: number | null;
  /** The ids of the repository and its owner from the first job. Later jobs must have the same ids. */
  pins: Record<string, string>;
  /** The ids of the last job that was refused for having different ones. A missing id is empty. */
  refused_ids: Record<string, string>;
  refused_at: number | null;
}

export interface TrustList {
  trusts: Trust[];
}

export interface User {
  id: string;
  login: string;
  name: string;
  /** Empty if the user has no avatar, or one that the page may not load. */
  avatar_url: string;
  provider: string;
}

export interface Organization {
  id: string;
  name: string;
  personal: boolean;
  /** The role of the signed-in user. */
  role: Role;
}

/** The service's addresses and limits. */
export interface Service {
  base_url: string;
  img_url: string;
  web_url: string;
  max_image_bytes: number;
  uploads_per_minute: number;
  /** The OpenID issuers that a project may trust. */
  trusted_issuers: string[];
  version: string;
}

export interface OrganizationName {
  id: string;
  name: string;
}

export interface Invitation {
  organization: OrganizationName;
  user: User;
  role: Role;
  /** A login. */
  invited_by: string;
  created_at: number;
}

export interface InvitationList {
  invitations: Invitation[];
}

export interface Me {
  user: User;
  organizations: Organization[];
  /** The newest invitations that wait for the user's answer. */
  invitations: Invitation[];
  service: Service;
  /** Whether the user operates the installation. */
  operator: boolean;
}

export interface InvitationLink {
  id: string;
  role: Role;
  created_by: string;
  created_at: number;
  expires_at: number;
}

export interface InvitationLinkList {
  links: InvitationLink[];
}

export interface NewInvitationLink {
  link: InvitationLink;
  /** Contains the secret, so it is shown once. */
  url: string;
}

/** What an invitation link offers to the person who opened it. */
export interface Offer {
  organization: OrganizationName;
  role: Role;
  created_by: string;
  expires_at: number;
  is_member: boolean;
}

export interface Group {
  provider: string;
  name: string;
  role: Role;
  created_by: string;
  created_at: number;
}

export interface GroupList {
  groups: Group[];
  /** The groups that the user may name: those of their last sign-in. */
  yours: string[];
}

export interface Member extends User {
  role: Role;
  you: boolean;
  /** They joined through a group of their login provider, and leave with it. */
  from_group: boolean;
}

export interface MemberList {
  members: Member[];
  next: string | null;
}

export interface Project {
  id: string;
  name: string;
  organization: OrganizationName;
  /** The role of the signed-in user in the project's organization. */
  role: Role;
  policy: Policy;
  retain_days: number | null;
  /** How many commits per branch keep their baselines. */
  keep_baselines: number;
  /** The web address of the repository. Empty if unknown. */
  repository: string;
  /** The project's own limit. null if the service's limit applies. */
  uploads_per_minute: number | null;
  /** The verdicts that need a decision. */
  review_verdicts: string[];
  /** Whether the author of a pull request can't approve it. */
  four_eyes: boolean;
  created_at: number;
  images: number;
  bytes: number;
  open_pulls: number;
  last_upload_at: number | null;
  /** The last 30 days, oldest first. */
  uploads_per_day: number[];
}

export interface ProjectList {
  projects: Project[];
  next: string | null;
}

/** The images that the next sweep would delete. */
export interface WouldExpire {
  images: number;
  bytes: number;
}

export interface ProjectDeletion {
  /** Images still to delete. At 0, the project is deleted as well. */
  remaining: number;
}

export interface DayOfUploads {
  /** A date in UTC, such as 2026-11-15. */
  day: string;
  uploads: number;
  bytes: number;
}

export interface Files {
  kind: "images" | "before" | "staged" | "baselines" | "thumbnails" | "differences" | "closeups";
  files: number;
  bytes: number;
}

export interface BytesOfDay {
  /** A date in UTC. */
  day: string;
  bytes: number;
}

/** What the store really has, measured by the sweep. Includes files that don't count towards quotas. */
export interface Measured {
  /** When it was last measured, as a date in UTC. null if never. */
  day: string | null;
  /** Whether the store is so large that the sweep measured only a part of it. */
  estimated: boolean;
  /** The last measurement, largest first. */
  kinds: Files[];
  /** The measured days of the requested period, oldest first. */
  days: BytesOfDay[];
}

export interface Quotas {
  /** The quotas that apply. */
  quotas: QuotaUse[];
}

export interface QuotaHolders {
  /** Largest first. */
  holders: QuotaHolder[];
  /** The quota of those that have null. 0 for no limit. */
  default_bytes: number;
  next: string | null;
}

export interface StoredProject {
  id: string;
  name: string;
  images: number;
  bytes: number;
}

export interface OrganizationUsage {
  images: number;
  bytes: number;
  /** The 100 largest projects, largest first. */
  projects: StoredProject[];
  measured: Measured;
}

export interface Usage {
  /** Every day of the requested period, oldest first. */
  days: DayOfUploads[];
  images: number;
  bytes: number;
  biggest: PullRequest[];
  measured: Measured;
}

export interface Webhook {
  id: string;
  /** Null for all projects of the organization. */
  project_id: string | null;
  /** The project's name, or empty. */
  project: string;
  url: string;
  format: Format;
  events: Event[];
  created_by: string;
  created_at: number;
  /** Until then, messages are also signed with the secret before the last rotation. */
  old_secret_until: number | null;
  /** When a message last arrived. */
  sent_at: number | null;
  failing_since: number | null;
  /** When the receiver answered 410. A change enables the webhook again. */
  disabled_at: number | null;
}

export interface WebhookList {
  webhooks: Webhook[];
}

export interface NewWebhook {
  webhook: Webhook;
  /** Shown once. */
  secret: string;
}

export interface WebhookDelivery {
  /** The message's `webhook-id`. */
  id: string;
  event: Event;
  project_id: string | null;
  pr_number: number | null;
  created_at: number;
  /** When it is sent next. Null if it arrived or was given up. */
  next_at: number | null;
  attempts: number;
  sent_at: number | null;
  /** The HTTP status of the last reply. */
  status: number | null;
  /** The beginning of the last reply. */
  reply: string;
  error: string;
}

export interface WebhookDeliveries {
  deliveries: WebhookDelivery[];
  next: string | null;
}

export interface WebhookPayload {
  /** The body, or empty before the first attempt. */
  payload: string;
}

/** The pull request's status `prshots` on its forge, if the connection posts it. */
export interface Check {
  state: "none" | "sent" | "waiting" | "failing";
  forge: ForgeKind | null;
  error: string;
  /** The state that was sent: success, pending or failure. */
  posted: string;
  description: string;
}

export interface ComparisonSummary {
  commit_sha: string;
  state: ComparisonState;
  /** How many shots have each verdict. */
  counts: Record<string, number>;
}

export interface ListedPullRequest extends PullRequest {
  /** Of the newest compared commit. */
  comparison: ComparisonSummary | null;
  gate: Gate | null;
}

export interface PullRequestList {
  pulls: ListedPullRequest[];
  next: string | null;
}

/** A shot in the gallery: its newest image, and the number of commits with images of it. */
export interface Shot {
  newest: Image;
  commits: number;
  /** The first commit with the same bytes, if it differs from the image's commit. */
  unchanged_since: string | null;
}

export interface ShotList {
  shots: Shot[];
  next: string | null;
}

export interface ImageList {
  images: Image[];
  next: string | null;
}

export interface ComparedShot {
  name: string;
  viewport: string;
  theme: string;
  /** null until it is known. */
  verdict: Verdict | null;
  pixels: number;
  /** What changed, came in or has another color: left, top, width and height, in the after image. */
  regions: [number, number, number, number][];
  /** What is gone, in pixels of the before image. */
  gone: [number, number, number, number][];
  /** Boxes of the after image, and how far their content moved to the right and down. The largest first. */
  moves: [number, number, number, number, number, number][];
  /** How many rows the largest of the moves goes down. Negative if it goes up. */
  shift: number;
  /** The old and the new color that most recolored pixels follow. */
  colors: [string, string][];
  /** null if the shot was removed. */
  after: Image | null;
  /** null if the shot is new, or if its base was deleted. */
  before: Image | null;
  /** Whether the two images were uploaded together. A pair has no base commit. */
  is_pair: boolean;
  diff_url: string | null;
  base_commit: string | null;
  /** false if the base is the branch's newest baseline, not one from the pull request's own history. */
  ancestor: boolean;
  /** Why its images could not be compared. Otherwise empty. */
  reason: string;
  /** The identity of the decoded pixels. Empty if there is no image, or if it isn't known yet. */
  pixels_before: string;
  pixels_after: string;
  closeups: CloseUp[];
  /** The ids of its groups, in their order. Empty if the shot is unchanged or failed. */
  groups: string[];
  /** What belongs to each of its groups. */
  parts: ShotPart[];
  /** The first of its groups, or empty. */
  group: string;
  review: Review;
}

/** A delivery to the forge that failed. */
export interface Failure {
  kind: DeliveryKind;
  error: string;
  /** null if it was given up. The next decision or comparison tries again. */
  next_at: number | null;
}

export interface FailingDelivery extends Failure {
  pr_number: number;
  attempts: number;
  first_due_at: number;
}

/** What waits to go out to the project's forge. */
export interface Outbox {
  /** At most 100, of the newest pull requests. */
  failing: FailingDelivery[];
  waiting: number;
}

export interface Comparison extends ComparisonSummary {
  branch: string;
  base_commit: string | null;
  /** How many of the base's shots the run lacks. Without a base commit, how many shots have no base. */
  missing: number;
  /** In the order to review them. */
  groups: ShotGroup[];
  gate: Gate;
  check: Check;
  /** Why the gate is blocked, in one line of plain text. Otherwise empty. */
  blocked: string;
  /** Which shots could not be compared and keep the gate blocked, and what to do. Otherwise empty. */
  unreadable: string;
  outdated_notes: OutdatedNote[];
  outbox: Failure[];
  /** Changed shots first, then moved, new, removed, failed and unchanged ones, each in natural order. */
  shots: ComparedShot[];
}

/** Another project of the repository that takes part in the pull request. */
export interface Sibling {
  id: string;
  name: string;
  gate: Gate;
}

export interface LatestComparison {
  comparison: Comparison | null;
  siblings: Sibling[];
}

/** A link that shows a pull request's changes to people without an account. */
export interface ShareLink {
  id: string;
  created_by: string;
  created_at: number;
  expires_at: number;
  /** When somebody revoked it, or when the pull request closed. */
  ended_at: number | null;
  /** Who revoked it. Otherwise empty. */
  ended_by: string;
}

export interface ShareLinkList {
  /** At most 100: the active ones, then the others, each newest first. */
  share_links: ShareLink[];
}

export interface NewShareLink {
  share_link: ShareLink;
  /** The only reply with its secret. */
  url: string;
}

/** The page behind a share link. */
export interface SharedChanges {
  /** Its name. */
  project: string;
  pr_number: number;
  title: string;
  expires_at: number;
  /** Without names of people, notes and deliveries. */
  comparison: Comparison | null;
}

export interface Comment {
  markdown: string;
  html: string;
}

export interface Expired {
  expired: number;
  /** Images that couldn't be deleted yet. The hourly sweep retries them. */
  failed: number;
}

export interface DeletedImage {
  ok: boolean;
  id: string;
}

export interface ThumbnailUrls {
  /** By image id. null if there is none: see `missing`. Omits deleted images. */
  thumbnails: Record<string, string | null>;
  /** By image id. For `later`, ask again in a few seconds. */
  missing: Record<string, "damaged" | "unsupported" | "too_large" | "later">;
}

export interface Done {
  ok: boolean;
}

export interface Provider {
  id: string;
  label: string;
}

export interface Providers {
  providers: Provider[];
  /** The dashboard's address. Sign-in must start there. */
  web_url: string;
}
