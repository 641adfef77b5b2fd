/** Requests missing thumbnails in batches. */

import type { ThumbnailUrls } from "../lib/types";
import type { ThumbnailError } from "./thumbnail-errors";

/** A thumbnail's URL, or why there is none; undefined: the image is deleted. */
export type ThumbnailResult = { url: string } | { error: ThumbnailError } | undefined;
type FetchThumbnails = (ids: string[]) => Promise<ThumbnailUrls>;

const MAX_BATCH_SIZE = 12;
const MAX_BATCHES = 2; // while the service renders one, it already has the next
const GATHER_MS = 50;

interface PendingRequest {
  promise: Promise<ThumbnailResult>;
  resolve: (result: ThumbnailResult) => void;
  reject: (problem: unknown) => void;
  box: Element | undefined;
}

/**
 * Collects requests for a moment and sends two batches at a time: rendering thumbnails is work for the service,
 * and a user who scrolls on needs the next ones instead. Thumbnails on the screen go first, from the top.
 */
export class ThumbnailQueue {
  private readonly fetchThumbnails: FetchThumbnails;
  private readonly waiting = new Map<string, PendingRequest>();
  private readonly sent = new Map<string, Promise<ThumbnailResult>>();
  private readonly results = new Map<string, ThumbnailResult>();
  private gathering = false;
  private batches = 0;

  constructor(fetchThumbnails: FetchThumbnails) {
    this.fetchThumbnails = fetchThumbnails;
  }

  /** `box` is where the thumbnail will be. Without one, it goes first. */
  request(id: string, box?: Element): Promise<ThumbnailResult> {
    const known = this.sent.get(id) ?? this.waiting.get(id)?.promise;
    if (known) return known;
    const request = createRequest(box);
    this.waiting.set(id, request);
    if (!this.gathering && this.batches < MAX_BATCHES) this.gather();
    return request.promise;
  }

  /** The result of an earlier request, if there was one. */
  resultOf(id: string): ThumbnailResult {
    return this.results.get(id);
  }

  /** Withdraw a request that has not been sent. */
  cancel(id: string): void {
    this.waiting.delete(id);
  }

  private gather(): void {
    this.gathering = true;
    setTimeout(() => {
      this.gathering = false;
      while (this.waiting.size && this.batches < MAX_BATCHES) void this.sendBatch();
    }, GATHER_MS);
  }

  private async sendBatch(): Promise<void> {
    const batch = sortByDistance([...this.waiting]).slice(0, MAX_BATCH_SIZE);
    for (const [id, request] of batch) {
      this.waiting.delete(id);
      this.sent.set(id, request.promise);
    }
    this.batches += 1;
    await this.settleBatch(batch);
    this.batches -= 1;
    if (this.waiting.size && !this.gathering) void this.sendBatch();
  }

  private async settleBatch(batch: [string, PendingRequest][]): Promise<void> {
    try {
      const reply = await this.fetchThumbnails(batch.map(([id]) => id));
      for (const [id, request] of batch) {
        const error = reply.missing[id];
        if (error === "later") this.fail(id, request, new Error("not rendered yet"));
        else this.succeed(id, request, toResult(reply.thumbnails[id], error));
      }
    } catch (problem) {
      for (const [id, request] of batch) this.fail(id, request, problem);
    }
  }

  private succeed(id: string, request: PendingRequest, result: ThumbnailResult): void {
    this.results.set(id, result);
    request.resolve(result);
  }

  private fail(id: string, request: PendingRequest, problem: unknown): void {
    this.sent.delete(id); // the next request retries
    request.reject(problem);
  }
}

function sortByDistance(waiting: [string, PendingRequest][]): [string, PendingRequest][] {
  const measured = waiting.map((entry) => ({ entry, ...measure(entry[1].box) }));
  return measured.sort((a, b) => a.distance - b.distance || a.top - b.top).map(({ entry }) => entry);
}

/** How many pixels a box is from the screen, and where its top is. */
function measure(box: Element | undefined): { distance: number; top: number } {
  if (!box) return { distance: 0, top: Number.NEGATIVE_INFINITY };
  const { top, bottom } = box.getBoundingClientRect();
  return { distance: Math.max(0, -bottom, top - window.innerHeight), top };
}

function toResult(url: string | null | undefined, error: ThumbnailError | undefined): ThumbnailResult {
  if (url) return { url };
  return error && { error };
}

function createRequest(box: Element | undefined): PendingRequest {
  const request = { box } as PendingRequest;
  request.promise = new Promise((resolve, reject) => Object.assign(request, { resolve, reject }));
  return request;
}
