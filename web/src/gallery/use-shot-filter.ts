import { useLocation } from "../lib/router";
import { useTyped } from "../lib/use-url-text";
import { type PullAddresses, pageHref, type Tab } from "../pull/urls";
import { type Wanted, wantedOf } from "./shot-filter";

export interface Wanting {
  /** With the text as typed, before the URL has it. */
  wanted: Wanted;
  text: string;
  setText: (text: string) => void;
}

/** What the toolbar of a tab asks for. */
export function useWanting(at: PullAddresses, tab: Tab): Wanting {
  const { query } = useLocation();
  const inUrl = wantedOf(query);
  const [text, setText] = useTyped(inUrl.q, (q) => pageHref(at, { tab, wanted: { ...inUrl, q } }));
  return { wanted: { ...inUrl, q: text.trim() }, text, setText };
}
