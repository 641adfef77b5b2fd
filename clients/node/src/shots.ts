/** Find the screenshots among files, and their names, viewports and themes, before anything is uploaded. */
import type { ContentType } from "./formats.js";

/** A screenshot's file, and the name, viewport and theme to upload it under. */
export interface ShotFile {
  path: string;
  name: string;
  viewport: string;
  theme: string;
  contentType: ContentType;
  /** In bytes. */
  size: number;
  /** For the user. A file with a warning is uploaded anyway. */
  note: string;
  warning: string;
}

/** Why a path is not a usable screenshot. `isMissing`: the path does not exist. */
export interface Problem {
  path: string;
  words: string;
  isMissing: boolean;
}
