/** A text around the screenshots in the comment, with placeholders. */

import { open } from "node:fs/promises";
import { InvalidInputError } from "./errors.js";
import { reasonOf } from "./file_search.js";
import type { CommentText } from "./replies.js";
import { MAX_COMMENT_BYTES } from "./service.js";
import { message } from "./statements.js";
import { formatNumber } from "./wording.js";

const COMMENT_PLACES = ["screenshots", "heading", "entries", "count"];
const JOB_PLACES = ["pr_number", "commit", "run_url", "dashboard_url"];
const SCREENSHOT_PLACES = ["screenshots", "entries"];
const MAX_HEADING_BYTES = 200;
const MAX_COUNT_BYTES = 20;

const PLACE = /\{\{\s*(.*?)\s*\}\}/g;

/** The values of the places that the job knows. */
export type JobValues = Record<string, string>;

export class Template {
  private constructor(readonly text: string) {}

  /** Read a template from a file. Throws InvalidInputError if the file is not a valid template. */
  static async read(path: string): Promise<Template> {
    const content = await contentOf(path);
    if (content.length > MAX_COMMENT_BYTES)
      throw new InvalidInputError(
        message("template_too_long", { file: path, limit: formatNumber(MAX_COMMENT_BYTES) }),
      );
    try {
      return Template.of(new TextDecoder("utf-8", { fatal: true }).decode(content), path);
    } catch (error) {
      if (error instanceof InvalidInputError) throw error;
      throw new InvalidInputError(message("template_not_text", { file: path }));
    }
  }

  /** Check a text and return it as a template. `origin` names it in errors. Throws InvalidInputError. */
  static of(text: string, origin: string): Template {
    const known = [...COMMENT_PLACES, ...JOB_PLACES];
    const places = placesIn(text);
    const unknown = places.find((place) => !known.includes(place));
    if (unknown !== undefined)
      throw new InvalidInputError(
        message("template_unknown_placeholder", {
          file: origin,
          placeholder: `{{${unknown.slice(0, 60)}}}`,
          known: known.map((name) => `{{${name}}}`).join(", "),
        }),
      );
    if (!places.some((place) => SCREENSHOT_PLACES.includes(place)))
      throw new InvalidInputError(
        message("template_without_screenshots", {
          file: origin,
          screenshots: "{{screenshots}}",
          entries: "{{entries}}",
        }),
      );
    return new Template(text.replaceAll("\r\n", "\n"));
  }

  /** Return the service's comment with the template around it. The marker stays first. */
  fill(comment: CommentText, jobValues: JobValues): string {
    const { markdown, heading, count } = comment;
    const at = Math.max(markdown.indexOf(heading), 0);
    const [marker, entries] = [markdown.slice(0, at), markdown.slice(at + heading.length)];
    const values = {
      screenshots: withoutOuterBreaks(heading + entries),
      heading,
      entries: withoutOuterBreaks(entries),
      count: String(count),
      ...jobValues,
    };
    return marker + this.#substitute(values);
  }

  /** Return how long the service's comment may be, in bytes, so that the filled template fits. */
  room(limit: number, marker: string, jobValues: JobValues): number {
    const widest = {
      screenshots: "",
      heading: " ".repeat(MAX_HEADING_BYTES),
      entries: "",
      count: " ".repeat(MAX_COUNT_BYTES),
      ...jobValues,
    };
    const own = Buffer.byteLength(`${marker}\n\n${this.#substitute(widest)}`);
    const copies = placesIn(this.text).filter((place) => SCREENSHOT_PLACES.includes(place)).length;
    return Math.floor((limit - own) / copies);
  }

  /** Fill all places in one pass: a screenshot's name may look like a placeholder, and stays a name. */
  #substitute(values: Record<string, string>): string {
    return this.text.replace(PLACE, (_, place: string) => values[place] ?? "");
  }
}

function placesIn(text: string): string[] {
  return [...text.matchAll(PLACE)].map(([, place = ""]) => place);
}

function withoutOuterBreaks(text: string): string {
  return text.replace(/^\n+|\n+$/g, "");
}

/** Return a file's content, or a bit more than a comment may have. */
async function contentOf(path: string): Promise<Buffer> {
  try {
    const handle = await open(path);
    try {
      const content = Buffer.alloc(MAX_COMMENT_BYTES + 1);
      const { bytesRead } = await handle.read(content, 0, content.length, 0);
      return content.subarray(0, bytesRead);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw new InvalidInputError(`cannot read the template ${path}: ${reasonOf(error)}`);
  }
}
