/** The replies about noise. */
import type { ShotKey } from "../gallery/shot-key";
import type { Image } from "../lib/types";

export interface AlternatingShot extends ShotKey {
  branch: string;
  pictures: { pixels: string; image: Image | null; at: number }[];
  /** How often it changed in the last 30 days. */
  changes: number;
  last_at: number;
}

export interface Quarantine extends ShotKey {
  id: string;
  reason: string;
  created_by: string;
  created_at: number;
  until: number;
  /** How many comparisons the shot was in since, and in how many of them it differed. */
  compared: number;
  differed: number;
}
