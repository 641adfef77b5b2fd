/** Does what it is given in the background, a few at a time, in the order given. */
export class Queue {
  #running = 0;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #idle: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  /** Do this when its turn comes. It must not fail. */
  add(task: () => Promise<void>): void {
    this.#waiting.push(task);
    this.#next();
  }

  /** Wait until all has been done. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.push(resolve);
      this.#next();
    });
  }

  #next(): void {
    while (this.#running < this.atOnce) {
      const task = this.#waiting.shift();
      if (!task) break;
      this.#running += 1;
      void task().finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
    if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }
}
