/** Data that stays up to date while it is on screen. */

import { useEffect, useMemo, useReducer } from "preact/hooks";
import { type ApiError, type Fetched, getIfChanged, getShared } from "./api";
import { type FetchPage, flatten, nextPageToCheck, type Page, renewPages } from "./page-chain";
import { comparisonPace, Poller } from "./poller";
import type {
  AuditLog,
  BaselineHistory,
  BaselineList,
  ImageList,
  MemberList,
  ProjectList,
  PullRequestList,
  QuotaHolders,
  SharedChanges,
  ShotList,
  StagedList,
  TokenList,
  WebhookDeliveries,
} from "./types";

export { connection } from "./poller";

export interface Live<T> {
  data: T | undefined;
  error: ApiError | undefined;
  /** There is no response yet, neither data nor an error. */
  loading: boolean;
  refresh(): Promise<void>;
}

export interface Pages<T> {
  items: T[];
  /** Loads the next page; null on the last page. */
  more: (() => Promise<void>) | null;
  error: ApiError | undefined;
  loading: boolean;
  /** The list has loaded, even if it is empty: show it even while polls fail. */
  loaded: boolean;
  refresh(): Promise<void>;
}

/** The lists that come in pages, by their field in the reply. */
type Lists = Omit<
  AuditLog &
    ProjectList &
    PullRequestList &
    ShotList &
    ImageList &
    BaselineList &
    BaselineHistory &
    StagedList &
    TokenList &
    WebhookDeliveries &
    MemberList &
    QuotaHolders,
  "next" | "branches" | "default_bytes"
>;
type Item<K extends keyof Lists> = Lists[K][number];

/**
 * The reply of `path`, kept up to date. With null, nothing is fetched. `pace` says how long to wait until the next
 * poll, for a reply that is expensive for the service.
 */
export function useLive<T>(path: string | null, pace?: (data: T | undefined) => number): Live<T> {
  const fetchPath = (etag: string | null) => getIfChanged<T>(path ?? "", etag);
  const live = path === null ? null : rememberPoller(`one ${path}`, () => new LiveValue<T>(fetchPath, pace));
  return useValue(live);
}

/** The page behind a share link, kept up to date. */
export function useShared(secret: string): Live<SharedChanges> {
  const fetchShared = (etag: string | null) => getShared(secret, etag);
  return useValue(rememberPoller(`shared ${secret}`, () => new LiveValue(fetchShared, comparisonPace)));
}

function useValue<T>(live: LiveValue<T> | null): Live<T> {
  usePoller(live);
  return useMemo(
    () => ({ ...pollState(live), data: live?.data, refresh: async () => live?.refresh() }),
    [live, live?.data, live?.error, live?.loading],
  );
}

/**
 * The list at `path`, in the field `key` of its replies. `idOf` identifies an item.
 * All loaded pages stay up to date: the first one at every poll, the others in turn.
 */
export function usePages<K extends keyof Lists>(
  path: string,
  key: K,
  idOf: (item: Item<K>) => string | number,
): Pages<Item<K>> {
  const list = rememberPoller(`list ${path}`, () => new LiveList<Item<K>>(path, key));
  usePoller(list);
  return useMemo(
    () => ({
      ...pollState(list),
      items: flatten(list.pages, idOf),
      loaded: list.pages.length > 0,
      more: list.hasMore ? () => list.more() : null,
      refresh: () => list.refresh(),
    }),
    [list, list.pages, list.error, list.loading, idOf],
  );
}

/** Load the pages of a list one after the other, until it has `most` items. */
export function useEveryPage<T>({ items, more, error }: Pages<T>, most: number): void {
  const wanted = more !== null && items.length < most && error === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each length; after an error, when a poll works
  useEffect(() => {
    if (wanted) more?.().catch(() => undefined); // the list has the error
  }, [wanted, items.length]);
}

/** Drop all data: at sign-in, so that a user never sees the previous user's data. */
export function forgetAll(): void {
  memory.clear();
}

class LiveValue<T> extends Poller {
  data: T | undefined;
  readonly #fetch: (etag: string | null) => Promise<Fetched<T>>;
  readonly #pace: ((data: T | undefined) => number) | undefined;
  #etag: string | null = null;

  constructor(fetch: (etag: string | null) => Promise<Fetched<T>>, pace?: (data: T | undefined) => number) {
    super();
    this.#fetch = fetch;
    this.#pace = pace;
  }

  protected override get every(): number {
    return this.#pace?.(this.data) ?? super.every;
  }

  protected override async update(): Promise<boolean> {
    const { data, etag } = await this.#fetch(this.#etag);
    this.#etag = etag;
    if (data === undefined) return false;
    this.data = data;
    return true;
  }

  protected override forget(): void {
    this.data = undefined;
    this.#etag = null;
  }
}

class LiveList<T> extends Poller {
  pages: Page<T>[] = [];
  readonly #path: string;
  readonly #key: string;
  #polls = 0;

  constructor(path: string, key: string) {
    super();
    this.#path = path;
    this.#key = key;
  }

  get hasMore(): boolean {
    return (this.pages.at(-1)?.next ?? null) !== null;
  }

  async more(): Promise<void> {
    await this.idle(); // one fetch at a time
    const after = this.pages.at(-1)?.next;
    if (!after) return;
    await this.run(async () => {
      const page = await this.#fetch(after, null);
      if (page) this.pages = [...this.pages, page];
      return true;
    });
    if (this.error) throw this.error;
  }

  protected override async update(everything: boolean): Promise<boolean> {
    const before = this.pages;
    let pages = await renewPages(before, this.#fetch, { everything });
    const other = everything ? null : nextPageToCheck(pages.length, this.#polls++);
    if (other !== null) pages = await renewPages(pages, this.#fetch, { from: other });
    const changed = pages.length !== before.length || pages.some((page, index) => page !== before[index]);
    if (changed) this.pages = pages;
    return changed;
  }

  protected override forget(): void {
    this.pages = [];
  }

  readonly #fetch: FetchPage<T> = async (after, etag) => {
    const { data, etag: current } = await getIfChanged<Record<string, unknown>>(this.#address(after), etag);
    if (data === undefined) return undefined;
    return { after, items: data[this.#key] as T[], next: data.next as string | null, etag: current };
  };

  #address(after: string | null): string {
    if (after === null) return this.#path;
    return `${this.#path}${this.#path.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}`;
  }
}

/** Data of earlier pages, so that Back shows it at once and restores the scroll position. */
const memory = new Map<string, Poller>();
const REMEMBERED = 40;

function rememberPoller<P extends Poller>(key: string, make: () => P): P {
  const poller = (memory.get(key) as P | undefined) ?? make();
  memory.delete(key); // move it to the end: the first in the map is the least recently used
  memory.set(key, poller);
  for (const [oldest, { watched }] of memory) {
    if (memory.size <= REMEMBERED) break;
    if (!watched && oldest !== key) memory.delete(oldest);
  }
  return poller;
}

function usePoller(poller: Poller | null): void {
  const [, redraw] = useReducer((count: number, _: undefined) => count + 1, 0);
  useEffect(() => {
    const stop = poller?.subscribe(() => redraw(undefined));
    redraw(undefined); // it may have changed since the render
    return stop;
  }, [poller]);
}

function pollState(poller: Poller | null): { error: ApiError | undefined; loading: boolean } {
  return { error: poller?.error, loading: poller === null || poller.loading };
}
