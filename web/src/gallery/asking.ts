/** Ask for missing thumbnails, many at a time. */

/** A thumbnail's address; null: it cannot be made; undefined: the image is gone. */
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
 * Gathers what cells want over a moment, and has one request under way at a time: making thumbnails is work
 * for the service, and whoever scrolls on wants the next ones instead. `forget` takes back what was not
 * asked for yet; what was wanted last is asked for first.
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
        this.known.delete(id); // the next to want it asks again
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
