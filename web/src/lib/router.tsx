/** A small router: the URL is the state, and links are real links. */

import type { AnchorHTMLAttributes, TargetedMouseEvent } from "preact";
import { useMemo } from "preact/hooks";
import { enterEntry, restoreScroll, saveScroll } from "./scroll-position";
import { Signal, useSignal } from "./signal";

interface Location {
  path: string;
  query: URLSearchParams;
}

const address = new Signal(typeof window === "undefined" ? "/" : currentAddress());

/** True from a navigation until the new page's heading has the focus. */
let headingWaits = false;

export function useLocation(): Location {
  const href = useSignal(address);
  return useMemo(() => parse(href), [href]);
}

export function navigate(href: string, options: { replace?: boolean } = {}): void {
  const { path: before } = parse(address.value);
  saveScroll();
  const state = { key: options.replace ? window.history.state?.key : newKey() };
  if (options.replace) window.history.replaceState(state, "", href);
  else window.history.pushState(state, "", href);
  enterEntry();
  address.value = currentAddress();
  if (parse(address.value).path !== before) {
    headingWaits = true;
    window.scrollTo(0, 0);
  }
}

export function startRouter(): void {
  window.history.scrollRestoration = "manual";
  if (!window.history.state?.key) window.history.replaceState({ key: newKey() }, "");
  enterEntry();
  restoreScroll();
  window.addEventListener("pagehide", saveScroll);
  window.addEventListener("popstate", () => {
    const { path: before } = parse(address.value);
    saveScroll();
    enterEntry();
    address.value = currentAddress();
    if (parse(address.value).path === before) return;
    headingWaits = true;
    restoreScroll();
  });
}

/** Whether the page's heading should take the focus. True once per navigation. */
export function takeFocus(): boolean {
  const wanted = headingWaits;
  headingWaits = false;
  return wanted;
}

type LinkProps = Omit<AnchorHTMLAttributes<HTMLAnchorElement>, "href" | "role" | "onClick"> & {
  href: string;
  /** Replace the current history entry instead of adding one. */
  replace?: boolean;
  onClick?: (event: TargetedMouseEvent<HTMLAnchorElement>) => void;
};

export function Link({ href, replace = false, onClick, ...rest }: LinkProps) {
  const follow = (event: TargetedMouseEvent<HTMLAnchorElement>) => {
    onClick?.(event);
    if (event.defaultPrevented || !isPlainClick(event)) return;
    event.preventDefault();
    navigate(href, { replace });
  };
  return <a href={href} onClick={follow} {...rest} />;
}

/** Ids and numbers. They become part of API paths, so they contain no slashes or dots, not even encoded ones. */
const VALUE = /^[\w-]+$/;

/** The values of the pattern's `:names`, or null if the path does not match. */
export function match<P extends string>(pattern: P, path: string): Params<P> | null {
  const wanted = split(pattern);
  const given = split(path);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    const isName = part.startsWith(":");
    if (isName ? !VALUE.test(value) : part !== value) return null;
    if (isName) params[part.slice(1)] = value;
  }
  return params as Params<P>;
}

type Params<P extends string> = P extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & Params<Rest>
  : P extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : Record<never, string>;

function split(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

function isPlainClick(event: MouseEvent): boolean {
  return event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
}

function currentAddress(): string {
  return window.location.pathname + window.location.search;
}

function parse(href: string): Location {
  const [path = "/", query = ""] = href.split("?", 2);
  return { path, query: new URLSearchParams(query) };
}

function newKey(): string {
  return Math.random().toString(36).slice(2);
}
