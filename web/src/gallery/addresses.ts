/** Where things of a pull request are: in the dashboard's API and in its pages. */
import type { Image, Shot } from "../lib/types";
import type { Place } from "./arrange";

export interface PullAddresses {
  /** The page. */
  page: string;
  pull: string;
  shots: string;
  comment: string;
  expire: string;
}

export function addressesOf(projectId: string, prNumber: number): PullAddresses {
  const pull = `/projects/${projectId}/pulls/${prNumber}`;
  return {
    page: `/projects/${projectId}/prs/${prNumber}`,
    pull,
    shots: `${pull}/shots`,
    comment: `${pull}/comment`,
    expire: `${pull}/expire`,
  };
}

/** All images of one place. */
export const commitsPath = (at: PullAddresses, { name, viewport }: Place): string =>
  `${at.pull}/images?${new URLSearchParams({ name, viewport })}`;

export const imagePath = (projectId: string, { id }: Pick<Image, "id">): string =>
  `/projects/${projectId}/images/${id}`;

/** What the lightbox is open at. */
export interface Opened {
  id: string;
  place: Place;
}

/** The image alone would not do: its place finds it again when newer commits lie before it. */
export const lightboxHref = (at: PullAddresses, { id, name, viewport }: Image): string =>
  `${at.page}?${new URLSearchParams({ shot: id, name, viewport })}`;

/** An address that names the image alone is understood while it is the newest of its place. */
export function openedAt(query: URLSearchParams, shots: Shot[]): Opened | null {
  const id = query.get("shot");
  if (!id) return null;
  const name = query.get("name");
  const viewport = query.get("viewport");
  if (name && viewport) return { id, place: { name, viewport } };
  const shot = shots.find(({ newest }) => newest.id === id);
  return shot ? { id, place: shot.newest } : null;
}
