/** Sample images and shots for tests. */
import type { Image, Shot } from "../lib/types";

let made = 0;

export function image(some: Partial<Image> = {}): Image {
  made += 1;
  const id = made.toString(16).padStart(32, "0");
  return {
    id,
    pr_number: 7,
    name: "Cart",
    viewport: "1280x800",
    theme: "",
    commit_sha: "a1b2c3d4e5",
    sha256: null,
    type: "image/png",
    size: 1000,
    uploaded_at: made,
    url: `http://img.test/i/${id}.png?exp=2000000000&token=1.aa`,
    markdown: "",
    thumbnail: null,
    thumbnail_url: null,
    ...some,
  };
}

export const shot = (name: string, viewport: string, some: Partial<Image> = {}): Shot => ({
  newest: image({ name, viewport, ...some }),
  commits: 1,
  unchanged_since: null,
});
