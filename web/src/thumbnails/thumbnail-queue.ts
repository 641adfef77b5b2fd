/** Requests missing thumbnails in batches. */

import type { ThumbnailUrls } from "../lib/types";
import type { Missing } from "./thumbnail-errors";

/** A thumbnail's URL, or why there is none; undefined: the image is deleted. */
export type Answer = { url: string } | { missing: Missing } | undefined;
type Ask = (ids: string[]) => Promise<ThumbnailUrls>;

const MOST_IN_BATCH = 12;
const MOST_BATCHES = 2; // while the service makes one, it already has the next
const GATHER_MS = 50;

interface Wanted {
  promise: Promise<Answer>;
  resolve: (answer: Answer) => void;
  reject: (problem: unknown) => void;
  box: Element | undefined;
}

/**
 * Collects requests for a moment and sends two batches at a time: rendering thumbnails is work for the service,
 * and a user who scrolls on needs the next ones instead. What is on the screen goes first, from its top. `forget`
 * withdraws a request that is still waiting.
 */
export class ThumbnailQueue {
  private readonly ask: Ask;
  private readonly waiting = new Map<string, Wanted>();
  private readonly known = new Map<string, Promise<Answer>>();
  private readonly answers = new Map<string, Answer>();
  private gathering = false;
  private batches = 0;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  /** `box` is where the thumbnail will be. Without one, it goes first. */
  want(id: string, box?: Element): Promise<Answer> {
    const known = this.known.get(id) ?? this.waiting.get(id)?.promise;
    if (known) return known;
    const { promise, resolve, reject } = deferred();
    this.waiting.set(id, { promise, resolve, reject, box });
    if (!this.gathering && this.batches < MOST_BATCHES) this.gather();
    return promise;
  }

  /** The answer to an earlier request, if there was one. */
  answered(id: string): Answer {
    return this.answers.get(id);
  }

  forget(id: string): void {
    this.waiting.delete(id);
  }

  private gather(): void {
    this.gathering = true;
    setTimeout(() => {
      this.gathering = false;
      while (this.waiting.size && this.batches < MOST_BATCHES) void this.send();
    }, GATHER_MS);
  }

  private async send(): Promise<void> {
    const batch = firstOnScreen([...this.waiting]).slice(0, MOST_IN_BATCH);
    for (const [id, wanted] of batch) {
      this.waiting.delete(id);
      this.known.set(id, wanted.promise);
    }
    this.batches += 1;
    await this.answer(batch);
    this.batches -= 1;
    if (this.waiting.size && !this.gathering) void this.send();
  }

  private async answer(batch: [string, Wanted][]): Promise<void> {
    try {
      const reply = await this.ask(batch.map(([id]) => id));
      for (const [id, wanted] of batch) {
        if (reply.missing[id] === "later") this.failed(id, wanted, new Error("not made yet"));
        else this.succeeded(id, wanted, answerOf(reply.thumbnails[id], reply.missing[id]));
      }
    } catch (problem) {
      for (const [id, wanted] of batch) this.failed(id, wanted, problem);
    }
  }

  private succeeded(id: string, wanted: Wanted, answer: Answer): void {
    this.answers.set(id, answer);
    wanted.resolve(answer);
  }

  private failed(id: string, wanted: Wanted, problem: unknown): void {
    this.known.delete(id); // the next request retries
    wanted.reject(problem);
  }
}

function firstOnScreen(waiting: [string, Wanted][]): [string, Wanted][] {
  const placed = waiting.map((entry) => ({ entry, ...placeOf(entry[1].box) }));
  return placed.sort((a, b) => a.away - b.away || a.top - b.top).map(({ entry }) => entry);
}

/** How many pixels it is away from the screen, and where its top is. */
function placeOf(box: Element | undefined): { away: number; top: number } {
  if (!box) return { away: 0, top: Number.NEGATIVE_INFINITY };
  const { top, bottom } = box.getBoundingClientRect();
  return { away: Math.max(0, -bottom, top - window.innerHeight), top };
}

function answerOf(url: string | null | undefined, missing: Missing | undefined): Answer {
  if (url) return { url };
  return missing && { missing };
}

function deferred(): Wanted {
  const made = {} as Wanted;
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
