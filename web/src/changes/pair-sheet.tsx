/** The contact sheet: the before and after images of each shot, side by side. */

import type { ShotFilter } from "../gallery/shot-filter";
import { boxAspect, shotId, variantLabel } from "../gallery/shot-key";
import { useIncrementalRows } from "../gallery/use-incremental-rows";
import { Link } from "../lib/router";
import type { Image } from "../lib/types";
import { type PullUrls, pairHref } from "../pull/urls";
import { Thumbnail } from "../thumbnails/thumbnail";
import { baseClass, describeBase, describeChange } from "./descriptions";
import { VerdictChip } from "./verdict-chip";
import type { ShotWithVerdict } from "./verdicts";

interface PairSheetProps {
  shots: ShotWithVerdict[];
  branch: string;
  urls: PullUrls;
  filter: ShotFilter;
}

export function PairSheet({ shots, branch, urls, filter }: PairSheetProps) {
  const { rows, end } = useIncrementalRows(shots.length, filter);
  return (
    <div class="sheet">
      <ul class="pairs">
        {shots.slice(0, rows).map((shot) => (
          <Pair key={shotId(shot)} {...{ shot, branch, urls, filter }} />
        ))}
      </ul>
      <div ref={end} />
    </div>
  );
}

function Pair({ shot, branch, urls, filter }: Omit<PairSheetProps, "shots"> & { shot: ShotWithVerdict }) {
  const words = describeChange(shot, branch);
  const about = describeBase(shot, branch);
  return (
    <li class="pair" style={{ "--aspect": boxAspect(shot.viewport) }}>
      <Link
        class="image-link"
        href={pairHref(urls, shot, "side", filter)}
        data-shot={shotId(shot)}
        data-cell=""
      >
        <span class="pair-name" title={shot.name}>
          {shot.name}
        </span>
        <span class="pair-about">
          <VerdictChip verdict={shot.verdict} /> {variantLabel(shot)}
        </span>
        <span class="pair-images">
          <SideThumbnail
            image={shot.before}
            of={shot}
            alt="Before"
            none={shot.verdict === "new" ? "New" : "Deleted"}
          />
          <SideThumbnail image={shot.after} of={shot} alt="After" none="Removed" />
        </span>
        {words && <span class="pair-words">{words}</span>}
        {about && <span class={`pair-words ${baseClass(shot)}`}>{about}</span>}
      </Link>
    </li>
  );
}

interface SideThumbnailProps {
  of: ShotWithVerdict;
  image: Image | null;
  alt: string;
  /** Shown if there is no image. */
  none: string;
}

function SideThumbnail({ of, image, alt, none }: SideThumbnailProps) {
  const aspect = boxAspect(of.viewport);
  if (image) return <Thumbnail image={image} aspect={aspect} alt={alt} />;
  return (
    <span class="thumbnail no-image" style={{ aspectRatio: String(aspect) }}>
      <span class="thumbnail-none">{none}</span>
    </span>
  );
}
