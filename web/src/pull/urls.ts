/** Where things of a pull request are: in the dashboard's API and in its pages. */

import { filterParameters, isUnfiltered, type ShotFilter, shotFilterFrom } from "../gallery/shot-filter";
import { type ShotKey, shotKeyOf } from "../gallery/shot-key";
import { API } from "../lib/api";
import type { Image } from "../lib/types";

export interface PullUrls {
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

export function pullUrls(projectId: string, prNumber: number): PullUrls {
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
export const shotImagesPath = (urls: PullUrls, { name, viewport, theme }: ShotKey): string =>
  `${urls.pull}/images?${new URLSearchParams({ name, viewport, theme })}`;

export const imagePath = (projectId: string, { id }: Pick<Image, "id">): string =>
  `/projects/${projectId}/images/${id}`;

export const TABS = ["changes", "all", "comment"] as const;
export type Tab = (typeof TABS)[number];

/** The tab that the URL names, or that has what the URL asks for; null if it is up to the page. */
export function tabFrom(query: URLSearchParams): Tab | null {
  const named = TABS.find((tab) => tab === query.get("tab"));
  if (named) return named;
  return query.has("shot") || !isUnfiltered(shotFilterFrom(query)) ? "all" : null;
}

/** How the viewer of pairs shows before and after. */
export const MODES = ["side", "slider", "overlay", "diff"] as const;
export type Mode = (typeof MODES)[number];

export const modeFrom = (query: URLSearchParams): Mode =>
  MODES.find((mode) => mode === query.get("mode")) ?? "side";

/** What a viewer is open at. */
export interface OpenShot {
  shotKey: ShotKey;
  /** null: the newest image of the place. */
  id: string | null;
}

interface PageState {
  tab?: Tab;
  filter?: ShotFilter;
  openShot?: OpenShot;
  mode?: Mode;
}

/** The page's URL. It says everything that the page shows. */
export function pageHref(urls: PullUrls, { tab, filter, openShot, mode }: PageState): string {
  const query = new URLSearchParams();
  if (tab) query.set("tab", tab);
  for (const [name, value] of filter ? filterParameters(filter) : []) query.set(name, value);
  if (openShot) {
    const { name, viewport, theme } = openShot.shotKey;
    query.set("shot", name);
    query.set("viewport", viewport);
    if (theme !== "") query.set("theme", theme);
    if (openShot.id !== null) query.set("image", openShot.id);
  }
  if (mode) query.set("mode", mode);
  return query.size > 0 ? `${urls.page}?${query}` : urls.page;
}

export const lightboxHref = (urls: PullUrls, image: Image, filter: ShotFilter): string =>
  pageHref(urls, { filter, openShot: { shotKey: shotKeyOf(image), id: image.id } });

export const pairHref = (urls: PullUrls, shotKey: ShotKey, mode: Mode, filter?: ShotFilter): string =>
  pageHref(urls, { tab: "changes", openShot: { shotKey, id: null }, mode, ...(filter ? { filter } : {}) });

/** A link that shows the newest image of a shot, whatever is pushed later, or this older image of it. */
export const imagePermalink = (urls: PullUrls, image: Image, isNewest: boolean): string =>
  window.location.origin +
  pageHref(urls, { openShot: { shotKey: shotKeyOf(image), id: isNewest ? null : image.id } });

export const pairPermalink = (urls: PullUrls, shotKey: ShotKey, mode: Mode): string =>
  window.location.origin + pairHref(urls, shotKey, mode);

/** The shot that the URL opens. */
export function openShotFrom(query: URLSearchParams): OpenShot | null {
  const [name, viewport] = [query.get("shot"), query.get("viewport")];
  if (!name || !viewport) return null;
  return { id: query.get("image"), shotKey: { name, viewport, theme: query.get("theme") ?? "" } };
}
