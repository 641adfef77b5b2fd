/** Requests missing thumbnails in batches. */

/** A thumbnail's URL; null: it cannot be rendered; undefined: the image is deleted. */
export type Answer = string | null | undefined;
type Ask = (ids: string[]) => Promise<Record<string, string | null>>;

const MOST_AT_ONCE = 24;
const GATHER_MS = 50;

interface Wanted {
  promise: Promise<Answer>;
  resolve: (answer: Answer) => void;
  reject: (problem: unknown) => void;
}

/**
 * Collects requests for a moment and sends one batch at a time: rendering thumbnails is work for the service,
 * and a user who scrolls on needs the next ones instead. The latest requests go first. `forget` withdraws a
 * request that is still waiting.
 */
export class ThumbnailQueue {
  private readonly ask: Ask;
  private readonly waiting = new Map<string, Wanted>();
  private readonly known = new Map<string, Promise<Answer>>();
  private busy = false;

  constructor(ask: Ask) {
    this.ask = ask;
  }

  want(id: string): Promise<Answer> {
    const known = this.known.get(id) ?? this.waiting.get(id)?.promise;
    if (known) return known;
    const { promise, resolve, reject } = deferred();
    this.waiting.set(id, { promise, resolve, reject });
    if (!this.busy) this.start();
    return promise;
  }

  forget(id: string): void {
    this.waiting.delete(id);
  }

  private start(): void {
    this.busy = true;
    setTimeout(() => void this.run(), GATHER_MS);
  }

  private async run(): Promise<void> {
    const batch = [...this.waiting].slice(-MOST_AT_ONCE);
    for (const [id, wanted] of batch) {
      this.waiting.delete(id);
      this.known.set(id, wanted.promise);
    }
    if (batch.length) await this.answer(batch);
    this.busy = false;
    if (this.waiting.size) this.start();
  }

  private async answer(batch: [string, Wanted][]): Promise<void> {
    try {
      const answers = await this.ask(batch.map(([id]) => id));
      for (const [id, wanted] of batch) wanted.resolve(answers[id]);
    } catch (problem) {
      for (const [id, wanted] of batch) {
        this.known.delete(id); // the next request retries
        wanted.reject(problem);
      }
    }
  }
}

function deferred(): Wanted {
  const made = {} as Wanted;
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}
