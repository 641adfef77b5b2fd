/** A value that components can watch: for state that doesn't belong to a component. */

import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
  #value: T;
  readonly #watchers = new Set<(value: T) => void>();

  constructor(value: T) {
    this.#value = value;
  }

  get value(): T {
    return this.#value;
  }

  set value(value: T) {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const watcher of [...this.#watchers]) watcher(value);
  }

  watch(watcher: (value: T) => void): () => void {
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }
}

export function useSignal<T>(signal: Signal<T>): T {
  const [value, setValue] = useState(signal.value);
  useEffect(() => {
    setValue(() => signal.value); // it may have changed between the render and this effect
    return signal.watch((next) => setValue(() => next));
  }, [signal]);
  return value;
}
