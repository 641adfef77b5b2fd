/** Runs tasks in the background: a few at a time, in order. */
export class Queue {
  #running = 0;
  readonly #waiting: (() => Promise<void>)[] = [];
  readonly #idle: (() => void)[] = [];

  constructor(private readonly atOnce: number) {}

  /** Run this task when its turn comes. The task must not reject. */
  add(task: () => Promise<void>): void {
    this.#waiting.push(task);
    this.#next();
  }

  /** Wait until all tasks are done. */
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
