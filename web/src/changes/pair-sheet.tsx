/** The contact sheet: before and after of each shot, side by side. */

import { boxAspect, placeKey, placeLabel } from "../gallery/arrange";
import type { Wanted } from "../gallery/shot-filter";
import { useGrowing } from "../gallery/use-incremental-rows";
import { Link } from "../lib/router";
import type { Image } from "../lib/types";
import { type PullAddresses, pairHref } from "../pull/urls";
import { Thumbnail } from "../thumbnails/thumbnail";
import { baseClass, baseWords, changeWords } from "./descriptions";
import { VerdictChip } from "./verdict-chip";
import type { Decided } from "./verdicts";

interface SheetProps {
  shots: Decided[];
  branch: string;
  at: PullAddresses;
  wanted: Wanted;
}

export function Sheet({ shots, branch, at, wanted }: SheetProps) {
  const { rows, end } = useGrowing(shots.length, wanted);
  return (
    <div class="sheet">
      <ul class="pairs">
        {shots.slice(0, rows).map((shot) => (
          <Pair key={placeKey(shot)} {...{ shot, branch, at, wanted }} />
        ))}
      </ul>
      <div ref={end} />
    </div>
  );
}

function Pair({ shot, branch, at, wanted }: Omit<SheetProps, "shots"> & { shot: Decided }) {
  const words = changeWords(shot, branch);
  const about = baseWords(shot, branch);
  return (
    <li class="pair" style={{ "--aspect": boxAspect(shot.viewport) }}>
      <Link
        class="picture-link"
        href={pairHref(at, shot, "side", wanted)}
        data-place={placeKey(shot)}
        data-cell=""
      >
        <span class="pair-name" title={shot.name}>
          {shot.name}
        </span>
        <span class="pair-about">
          <VerdictChip verdict={shot.verdict} /> {placeLabel(shot)}
        </span>
        <span class="pair-pictures">
          <Side
            image={shot.before}
            of={shot}
            alt="Before"
            none={shot.verdict === "new" ? "New" : "Deleted"}
          />
          <Side image={shot.after} of={shot} alt="After" none="Removed" />
        </span>
        {words && <span class="pair-words">{words}</span>}
        {about && <span class={`pair-words ${baseClass(shot)}`}>{about}</span>}
      </Link>
    </li>
  );
}

interface SideProps {
  of: Decided;
  image: Image | null;
  alt: string;
  /** What to say if there is no image. */
  none: string;
}

function Side({ of, image, alt, none }: SideProps) {
  const aspect = boxAspect(of.viewport);
  if (image) return <Thumbnail image={image} aspect={aspect} alt={alt} />;
  return (
    <span class="thumbnail no-picture" style={{ aspectRatio: String(aspect) }}>
      <span class="thumbnail-none">{none}</span>
    </span>
  );
}
