/** What identifies a shot, and the shape of its viewport. */

export interface Size {
  width: number;
  height: number;
}

/** What identifies a shot in a pull request. Each commit can have an image of it. */
export interface ShotKey {
  name: string;
  viewport: string;
  /** Empty, light or dark. */
  theme: string;
}

/** The key alone, of an image that has more fields. */
export const shotKeyOf = ({ name, viewport, theme }: ShotKey): ShotKey => ({ name, viewport, theme });

/** A viewport and a theme contain no space, so no two shots share an id. */
export const shotId = ({ viewport, theme, name }: ShotKey): string => `${viewport} ${theme} ${name}`;

export const isSameShot = (one: ShotKey, other: ShotKey): boolean => shotId(one) === shotId(other);

export function viewportSize(viewport: string): Size {
  const [width = 0, height = 0] = viewport.split("x").map(Number);
  return width > 0 && height > 0 ? { width, height } : { width: 1280, height: 800 };
}

export const viewportLabel = (viewport: string): string => viewport.replace("x", " × ");

/** "1280 × 800, dark" */
export const variantLabel = ({ viewport, theme }: Pick<ShotKey, "viewport" | "theme">): string =>
  theme ? `${viewportLabel(viewport)}, ${theme}` : viewportLabel(viewport);

const NARROWEST = 0.46; // a phone held upright
const WIDEST = 2.4;

/** The aspect ratio of the box for images of a viewport, independent of their real size. */
export function boxAspect(viewport: string): number {
  const { width, height } = viewportSize(viewport);
  return Math.min(WIDEST, Math.max(NARROWEST, width / height));
}
