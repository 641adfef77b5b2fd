/** Where things of a pull request are: in the dashboard's API and in its pages. */

import { type Place, placeOf } from "../gallery/arrange";
import { asParameters, isEverything, type Wanted, wantedOf } from "../gallery/shot-filter";
import { API } from "../lib/api";
import type { Image, Shot } from "../lib/types";

export interface PullAddresses {
  /** The page. */
  page: string;
  pull: string;
  shots: string;
  comparison: string;
  comment: string;
  expire: string;
  /** For a link: it is not called with `get`. */
  zip: string;
}

export function addressesOf(projectId: string, prNumber: number): PullAddresses {
  const pull = `/projects/${projectId}/pulls/${prNumber}`;
  return {
    page: `/projects/${projectId}/prs/${prNumber}`,
    pull,
    shots: `${pull}/shots`,
    comparison: `${pull}/comparison`,
    comment: `${pull}/comment`,
    expire: `${pull}/expire`,
    zip: `${API}${pull}/zip`,
  };
}

/** All images of one place. */
export const commitsPath = (at: PullAddresses, { name, viewport, theme }: Place): string =>
  `${at.pull}/images?${new URLSearchParams({ name, viewport, theme })}`;

export const imagePath = (projectId: string, { id }: Pick<Image, "id">): string =>
  `/projects/${projectId}/images/${id}`;

export const TABS = ["changes", "all", "comment"] as const;
export type Tab = (typeof TABS)[number];

/** The tab that the URL names, or that has what the URL asks for; null if it is up to the page. */
export function tabOf(query: URLSearchParams): Tab | null {
  const named = TABS.find((tab) => tab === query.get("tab"));
  if (named) return named;
  return query.has("shot") || !isEverything(wantedOf(query)) ? "all" : null;
}

/** How the viewer of pairs shows before and after. */
export const MODES = ["side", "slider", "overlay", "diff"] as const;
export type Mode = (typeof MODES)[number];

export const modeOf = (query: URLSearchParams): Mode =>
  MODES.find((mode) => mode === query.get("mode")) ?? "side";

/** What a viewer is open at. */
export interface Opened {
  place: Place;
  /** null: the newest image of the place. */
  id: string | null;
}

interface PageState {
  tab?: Tab;
  wanted?: Wanted;
  opened?: Opened;
  mode?: Mode;
}

/** The page's URL. It says everything that the page shows. */
export function pageHref(at: PullAddresses, { tab, wanted, opened, mode }: PageState): string {
  const query = new URLSearchParams();
  if (tab) query.set("tab", tab);
  for (const [name, value] of wanted ? asParameters(wanted) : []) query.set(name, value);
  if (opened) {
    const { name, viewport, theme } = opened.place;
    query.set("shot", name);
    query.set("viewport", viewport);
    if (theme !== "") query.set("theme", theme);
    if (opened.id !== null) query.set("image", opened.id);
  }
  if (mode) query.set("mode", mode);
  return query.size > 0 ? `${at.page}?${query}` : at.page;
}

export const lightboxHref = (at: PullAddresses, image: Image, wanted: Wanted): string =>
  pageHref(at, { wanted, opened: { place: placeOf(image), id: image.id } });

export const pairHref = (at: PullAddresses, place: Place, mode: Mode, wanted?: Wanted): string =>
  pageHref(at, { tab: "changes", opened: { place, id: null }, mode, ...(wanted ? { wanted } : {}) });

/** A link that shows the newest image of a shot, whatever is pushed later, or this older image of it. */
export const permalink = (at: PullAddresses, image: Image, isNewest: boolean): string =>
  window.location.origin +
  pageHref(at, { opened: { place: placeOf(image), id: isNewest ? null : image.id } });

export const pairPermalink = (at: PullAddresses, place: Place, mode: Mode): string =>
  window.location.origin + pairHref(at, place, mode);

/** What the URL opens. Links of earlier versions had the image as `shot`, and most of them also its `name`. */
export function openedAt(query: URLSearchParams, shots: Shot[]): Opened | null {
  const shot = query.get("shot");
  if (!shot) return null;
  const viewport = query.get("viewport");
  const name = query.get("name");
  if (viewport && name) return { id: shot, place: { name, viewport, theme: "" } };
  if (viewport) {
    return {
      id: query.get("image"),
      place: { name: shot, viewport, theme: query.get("theme") ?? "" },
    };
  }
  const found = shots.find(({ newest }) => newest.id === shot);
  return found ? { id: shot, place: placeOf(found.newest) } : null;
}
