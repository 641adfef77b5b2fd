import { useLocation } from "../lib/router";
import { useUrlText } from "../lib/use-url-text";
import { type ChangesUrls, pageHref, type Tab } from "../pull/urls";
import { type ShotFilter, shotFilterFrom } from "./shot-filter";

export interface ShotFilterInput {
  /** Includes the text as typed, before the URL has it. */
  filter: ShotFilter;
  text: string;
  setText: (text: string) => void;
}

/** The filter that the user set in a tab's toolbar. */
export function useShotFilter(urls: ChangesUrls, tab: Tab): ShotFilterInput {
  const { query } = useLocation();
  const inUrl = shotFilterFrom(query);
  const [text, setText] = useUrlText(inUrl.q, (q) => pageHref(urls, { tab, filter: { ...inUrl, q } }));
  return { filter: { ...inUrl, q: text.trim() }, text, setText };
}
