/** URLs of a pull request in the dashboard and its API. */

import { filterParameters, isUnfiltered, type ShotFilter, shotFilterFrom } from "../gallery/shot-filter";
import { type ShotKey, shotKeyOf } from "../gallery/shot-key";
import { API } from "../lib/api";
import type { Image } from "../lib/types";

/** The page of a pull request’s changes, in the dashboard or behind a share link. */
export interface ChangesUrls {
  page: string;
  /** The secret of a share link, with its #. Empty in the dashboard. */
  fragment: string;
  /** null behind a share link, which leads to no other page. */
  projectId: string | null;
  /** The images of a shot on a branch. */
  history: string | null;
}

export interface PullUrls extends ChangesUrls {
  projectId: string;
  pull: string;
  shots: string;
  comparison: string;
  decisions: string;
  comment: string;
  history: string;
  shareLinks: string;
  expire: string;
  /** For a link, so it includes the API's prefix. */
  zip: string;
}

export function pullUrls(projectId: string, prNumber: number): PullUrls {
  const pull = `/projects/${projectId}/pulls/${prNumber}`;
  return {
    page: `/projects/${projectId}/prs/${prNumber}`,
    fragment: "",
    projectId,
    pull,
    shots: `${pull}/shots`,
    comparison: `${pull}/comparison`,
    decisions: `${pull}/decisions`,
    comment: `${pull}/comment`,
    history: `/projects/${projectId}/baselines/history`,
    shareLinks: `${pull}/share-links`,
    expire: `${pull}/expire`,
    zip: `${API}${pull}/zip`,
  };
}

/** Lists all images of a shot. */
export const shotImagesPath = (urls: PullUrls, { name, viewport, theme }: ShotKey): string =>
  `${urls.pull}/images?${new URLSearchParams({ name, viewport, theme })}`;

export const shotHistoryPath = (
  history: string,
  branch: string,
  { name, viewport, theme }: ShotKey,
): string => `${history}?${new URLSearchParams({ branch, name, viewport, theme })}`;

export const imagePath = (projectId: string, { id }: Pick<Image, "id">): string =>
  `/projects/${projectId}/images/${id}`;

export const TABS = ["changes", "all", "comment"] as const;
export type Tab = (typeof TABS)[number];

/** The tab that the URL names, or that shows the URL's shot or filter; null if the page decides. */
export function tabFrom(query: URLSearchParams): Tab | null {
  const named = TABS.find((tab) => tab === query.get("tab"));
  if (named) return named;
  if (query.has("group")) return "changes";
  return query.has("shot") || !isUnfiltered(shotFilterFrom(query)) ? "all" : null;
}

/** How the pair viewer shows the before and after images. */
export const MODES = ["side", "slider", "overlay", "diff"] as const;
export type Mode = (typeof MODES)[number];

export const modeFrom = (query: URLSearchParams): Mode =>
  MODES.find((mode) => mode === query.get("mode")) ?? "side";

/** The shot that a viewer shows. */
export interface OpenShot {
  shotKey: ShotKey;
  /** null: the newest image of the shot. */
  id: string | null;
}

interface PageState {
  tab?: Tab;
  filter?: ShotFilter;
  openShot?: OpenShot;
  mode?: Mode;
  /** The id of the group of changes to show. */
  group?: string;
}

/** The page's URL. It contains the whole state of the page. */
export function pageHref(urls: ChangesUrls, { tab, filter, openShot, mode, group }: PageState): string {
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
  if (group) query.set("group", group);
  return `${urls.page}${query.size > 0 ? `?${query}` : ""}${urls.fragment}`;
}

export const lightboxHref = (urls: PullUrls, image: Image, filter: ShotFilter): string =>
  pageHref(urls, { filter, openShot: { shotKey: shotKeyOf(image), id: image.id } });

export const pairHref = (urls: ChangesUrls, shotKey: ShotKey, mode: Mode, filter?: ShotFilter): string =>
  pageHref(urls, { tab: "changes", openShot: { shotKey, id: null }, mode, ...(filter ? { filter } : {}) });

/** A link that always shows the newest image of a shot, even after later pushes, or one older image. */
export const imagePermalink = (urls: PullUrls, image: Image, isNewest: boolean): string =>
  window.location.origin +
  pageHref(urls, { openShot: { shotKey: shotKeyOf(image), id: isNewest ? null : image.id } });

export const pairPermalink = (urls: ChangesUrls, shotKey: ShotKey, mode: Mode): string =>
  window.location.origin + pairHref(urls, shotKey, mode);

/** The shot that the URL opens. */
export function openShotFrom(query: URLSearchParams): OpenShot | null {
  const [name, viewport] = [query.get("shot"), query.get("viewport")];
  if (!name || !viewport) return null;
  return { id: query.get("image"), shotKey: { name, viewport, theme: query.get("theme") ?? "" } };
}
