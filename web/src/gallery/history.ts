/** A shot's history: one entry per commit, and one for consecutive commits with equal bytes. */
import type { Image } from "../lib/types";

export interface HistoryEntry {
  /** The newest image of the entry. */
  image: Image;
  /** The first commit that had these bytes, if it differs from the image's. */
  unchangedSince: string | null;
  /** All images of the entry, newest first. */
  images: Image[];
}

/** Takes images newest first. A second run of a commit replaces the first. */
export function buildHistory(images: Image[]): HistoryEntry[] {
  const entries: HistoryEntry[] = [];
  const commits = new Map<string, HistoryEntry>();
  for (const image of images) {
    const rerun = commits.get(image.commit_sha);
    if (rerun) {
      rerun.images.push(image);
      continue;
    }
    const last = entries.at(-1);
    if (last && image.sha256 !== null && last.image.sha256 === image.sha256) {
      last.images.push(image);
      last.unchangedSince = image.commit_sha;
      commits.set(image.commit_sha, last);
    } else {
      const entry = { image, unchangedSince: null, images: [image] };
      entries.push(entry);
      commits.set(image.commit_sha, entry);
    }
  }
  return entries;
}

/** The index of the entry that contains this image, or -1. */
export const findEntry = (entries: HistoryEntry[], id: string): number =>
  entries.findIndex(({ images }) => images.some((image) => image.id === id));
