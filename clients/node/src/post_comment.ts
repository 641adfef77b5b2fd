/** Compose the pull request's comment and post it. */

import { isPublic, kindOfPublicApi } from "./ci/forge_addresses.js";
import type { Job } from "./ci/job.js";
import { ForgeRefusedError } from "./errors.js";
import { type Forge, markerLine } from "./forges/forge.js";
import { withForkAdvice } from "./forges/forks.js";
import type { CommentText } from "./replies.js";
import { MAX_COMMENT_BYTES, MIN_COMMENT_BYTES, type Service, type View } from "./service.js";
import { message } from "./statements.js";
import { keepCurrent, type Posted } from "./sticky_comment.js";
import type { JobValues, Template } from "./templates.js";
import { formatNumber } from "./wording.js";

/** Images in the comment: on their own line, linked, or in a table. */
const IMAGES = [
  /^!\[.*\]\((https?:\/\/[^\s)]+)\)$/m,
  /\[!\[[^\]\n]*\]\((https?:\/\/[^\s)]+)\)\]\(/,
  /<a href="[^"]*"><img [^>]*src="(https?:\/\/[^"]+)"/,
];

export interface Composition {
  view?: View;
  template?: Template | undefined;
  dashboardUrl?: string;
}

/** Composes the comment. Every call asks the service again, so the text is always current. */
export class Composer {
  /** How many screenshots the last text is about. */
  count = 0;
  /** How many other projects take part in the pull request. */
  siblings = 0;
  /** Sentences for the user about the parts that the last text leaves out. */
  notes: string[] = [];
  /** Why readers may not see the images in the last text. Empty if nothing prevents it. */
  warning = "";

  constructor(
    private readonly service: Pick<Service, "comment">,
    readonly prNumber: number,
    readonly job: Job,
    private readonly how: Composition = {},
  ) {}

  /** Return the comment with its template, in markdown for any forge. */
  async markdown(): Promise<string> {
    const { view, template } = this.how;
    return this.#fill(await this.service.comment(this.prNumber, MAX_COMMENT_BYTES, "html", view), template);
  }

  /** Return the comment in the markdown of this forge, no longer than the forge allows. */
  async textFor(forge: Forge): Promise<string> {
    this.notes = [];
    const { view = "all" } = this.how;
    const [template, room] = this.#templateFor(forge);
    const limit = Math.min(room, MAX_COMMENT_BYTES);
    const comment = await this.service.comment(this.prNumber, limit, forge.markerStyle, view);
    this.count = comment.count;
    this.siblings = comment.siblings;
    // Among the changes, only unchanged shots are merely listed.
    const withoutPicture = (view === "changes" ? 0 : comment.listed) + comment.omitted;
    if (withoutPicture)
      this.notes.push(
        message("without_image", { count: withoutPicture, total: comment.count, limit: formatNumber(limit) }),
      );
    this.warning = unreachableImages(comment.markdown, this.job.forgeApi, forge.label);
    return this.#fill(comment, template);
  }

  /** Return the template and how many bytes it leaves. Leaves out a template that is too long. */
  #templateFor(forge: Forge): [Template | undefined, number] {
    const { template } = this.how;
    if (!template) return [undefined, forge.maxCommentBytes];
    const marker = markerLine(forge.markerStyle, this.prNumber);
    const room = template.room(forge.maxCommentBytes, marker, this.#jobValues());
    if (room >= MIN_COMMENT_BYTES) return [template, room];
    this.notes.push(message("template_left_out", { forge: forge.label }));
    return [undefined, forge.maxCommentBytes];
  }

  #fill(comment: CommentText, template: Template | undefined): string {
    return template ? template.fill(comment, this.#jobValues()) : comment.markdown;
  }

  #jobValues(): JobValues {
    return {
      pr_number: String(this.prNumber),
      commit: this.job.commitSha,
      run_url: this.job.runUrl,
      dashboard_url: this.how.dashboardUrl ?? "",
    };
  }
}

/** Return a warning if the forge is on the internet but the images aren't, else "". */
export function unreachableImages(markdown: string, forgeApi: string, label: string): string {
  const address = IMAGES.map((image) => image.exec(markdown)?.[1]).find(Boolean);
  if (address === undefined || !kindOfPublicApi(forgeApi) || isPublic(address)) return "";
  return message("unreachable_images", { forge: label, address: new URL(address).origin });
}

/** Update the project's comment on the pull request. Without screenshots, don't create one. */
export async function post(forge: Forge, composer: Composer, creates = true): Promise<Posted> {
  const render = () => composer.textFor(forge);
  const creating = () => creates && composer.count > 0;
  try {
    const posted = await keepCurrent(forge, composer.prNumber, render, creating, () => !composer.siblings);
    if (posted.outcome === "kept")
      // The notes are about a text that wasn't posted.
      composer.notes = [message(posted.isOlder ? "comment_is_older" : "comment_kept_current")];
    return posted;
  } catch (error) {
    throw error instanceof ForgeRefusedError ? withForkAdvice(error, composer.job) : error;
  }
}
