/** The contact sheet: the changes by group, as close-ups or as pairs of whole pages. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ShotFilter } from "../gallery/shot-filter";
import { boxAspect, shotId, variantLabel, viewportSize } from "../gallery/shot-key";
import { useIncrementalRows } from "../gallery/use-incremental-rows";
import { formatCount, formatNumber } from "../lib/format";
import { Link } from "../lib/router";
import type { Image } from "../lib/types";
import { type ChangesUrls, pageHref, pairHref } from "../pull/urls";
import { DecideButtons, type ReviewActions } from "../review/review-bar";
import { GroupLabel, ReviewLabel } from "../review/review-label";
import { isOpen, isRejectable } from "../review/reviews";
import { Thumbnail } from "../thumbnails/thumbnail";
import { Button } from "../ui";
import { baseClass, describeBase, describeChange } from "./descriptions";
import { decidedIn, firstShots, indexSections, isDone, isQuiet, type Section } from "./groups";
import { cutPosition } from "./pair-layout";
import { partId } from "./parts";
import { VerdictChip } from "./verdict-chip";
import type { ShotWithVerdict } from "./verdicts";

interface PairSheetProps {
  sections: Section[];
  branch: string;
  urls: ChangesUrls;
  filter: ShotFilter;
  /** The group that the URL names. It may not exist. */
  group: string | null;
  /** Show whole pages instead of close-ups. */
  isWhole: boolean;
  /** null for people who can’t decide. */
  actions: ReviewActions | null;
}

export function PairSheet(props: PairSheetProps) {
  const { sections, urls, filter, group } = props;
  const total = sections.reduce((sum, { shots }) => sum + shots.length, 0);
  const { rows, end, showAfter } = useIncrementalRows(total, filter);
  const jump = useJump(sections, group, showAfter);
  const index = indexSections(sections);
  return (
    <div class="sheet">
      {index.length > 1 && (
        <nav class="sheet-index" aria-label="Groups">
          {index.map(({ id, label, shots }) => (
            <Link
              key={id}
              href={pageHref(urls, { tab: "changes", filter, group: id })}
              replace
              onClick={() => jump(id)}
            >
              {label} {shots > 0 && <span class="count">{formatNumber(shots)}</span>}
            </Link>
          ))}
        </nav>
      )}
      {firstShots(sections, rows).map((part) => (
        <Group
          key={part.id}
          section={sections.find(({ id }) => id === part.id) ?? part}
          shots={part.shots}
          {...props}
        />
      ))}
      <div ref={end} />
    </div>
  );
}

interface GroupProps extends PairSheetProps {
  section: Section;
  /** Those that are already on the page. */
  shots: ShotWithVerdict[];
}

/** A group with nothing left to look at is one line, until it is opened. A link to it opens it. */
function Group({ section, shots, sections: _, group, ...rest }: GroupProps) {
  const { urls, actions } = rest;
  const { id, title } = section;
  const isFolded = isDone(section);
  const decided = decidedIn(section);
  const [isShown, setShown] = useState(false);
  const isLinked = id === group;
  // biome-ignore lint/correctness/useExhaustiveDependencies: folds if the last decision about it is made here
  useEffect(() => setShown(isLinked && isFolded), [isLinked]);
  const open = section.shots.filter(isOpen);
  const rejectable = section.shots.filter(isRejectable);
  return (
    <section
      class={`group ${isFolded ? "done" : ""}`}
      data-group={id}
      {...(isLinked ? { "data-current": "" } : {})}
    >
      <div class="group-head">
        <h2 class="group-title" tabIndex={-1}>
          {title}
        </h2>
        {decided && <GroupLabel decided={decided} />}
        {isQuiet(section) && urls.projectId && (
          <Link href={`/projects/${urls.projectId}/${id === "quarantined" ? "quarantine" : "noise"}`}>
            {id === "quarantined" ? "Quarantine" : "Alternating screenshots"}
          </Link>
        )}
        {isFolded && (
          <button
            type="button"
            class="link-button"
            aria-expanded={isShown}
            onClick={() => setShown(!isShown)}
          >
            {isShown ? "Hide" : "Show"}
          </button>
        )}
        {actions && open.length > 0 && rejectable.length > 1 && (
          <Button
            title="Reject the group with one note (Shift+G)"
            onClick={() => actions.startGroupRejection(rejectable)}
          >
            Reject {formatCount(rejectable.length, "screenshot")}
          </Button>
        )}
        {actions && open.length > 1 && (
          <Button title="Approve the group (G)" onClick={() => actions.approve(open)}>
            Approve {formatCount(open.length, "screenshot")}
          </Button>
        )}
      </div>
      {(!isFolded || isShown) && (
        <ul class="pairs">
          {shots.map((shot, place) => (
            <Pair key={shotId(shot)} isLead={place === 0} shot={shot} {...rest} />
          ))}
        </ul>
      )}
    </section>
  );
}

/** Returns a function that scrolls to a section. Scrolls to the group in the URL once, as soon as it exists. */
function useJump(
  sections: Section[],
  group: string | null,
  showAfter: (shots: number) => void,
): (id: string) => void {
  const [target, setTarget] = useState<{ id: string } | null>(null);
  const seen = useRef<string | null>(null);
  useEffect(() => {
    const section = [...document.querySelectorAll<HTMLElement>("[data-group]")].find(
      ({ dataset }) => target && dataset.group === target.id,
    );
    section?.scrollIntoView();
    section?.querySelector("h2")?.focus({ preventScroll: true });
  }, [target]);
  const jump = (id: string) => {
    seen.current = id;
    const at = sections.findIndex((section) => section.id === id);
    showAfter(sections.slice(0, at).reduce((sum, { shots }) => sum + shots.length, 0));
    setTarget({ id });
  };
  const isThere = sections.some(({ id }) => id === group);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each group in the URL
  useEffect(() => {
    if (group !== null && isThere && seen.current !== group) jump(group);
  }, [group, isThere]);
  return jump;
}

interface PairProps extends Omit<PairSheetProps, "sections" | "group"> {
  shot: ShotWithVerdict;
  /** The first shot of a group shows all close-ups of its part at full size. */
  isLead: boolean;
}

function Pair({ shot, branch, urls, filter, isLead, isWhole, actions }: PairProps) {
  const [broken, setBroken] = useState(false);
  const closeups = isWhole || broken ? [] : shot.closeups.slice(0, isLead ? shot.closeups.length : 1);
  const isClose = closeups.length > 0;
  const words = describeChange(shot, branch);
  const about = describeBase(shot, branch);
  const sides = shot.verdict === "new" || shot.verdict === "removed" ? 1 : 2;
  return (
    <li
      class={`pair ${isClose ? "close" : ""} ${isClose && isLead ? "leading" : ""}`}
      style={{ "--aspect": boxAspect(shot.viewport), "--sides": sides }}
    >
      <Link
        class="image-link"
        href={pairHref(urls, shot, "side", filter)}
        data-shot={shotId(shot)}
        data-cell={partId(shot)}
      >
        <span class="pair-name" title={shot.name}>
          {shot.name}
        </span>
        <span class="pair-about">
          <VerdictChip verdict={shot.verdict} /> {variantLabel(shot)}
        </span>
        {isClose ? (
          <span class="closeups">
            {closeups.map(({ url }) => (
              <img
                key={url}
                src={url}
                alt="Before and after"
                loading="lazy"
                decoding="async"
                onError={() => setBroken(true)}
              />
            ))}
          </span>
        ) : (
          <WholePages shot={shot} />
        )}
        {words && <span class="pair-words">{words}</span>}
        {about && <span class={`pair-words ${baseClass(shot)}`}>{about}</span>}
      </Link>
      <div class="pair-review">
        <ReviewLabel shot={shot} />
        {actions && <DecideButtons shot={shot} actions={actions} />}
        {shot.review.note && <p class="review-note">{shot.review.note}</p>}
      </div>
    </li>
  );
}

function WholePages({ shot }: { shot: ShotWithVerdict }) {
  return (
    <span class="pair-images">
      {shot.verdict !== "new" && <SideImage image={shot.before} of={shot} alt="Before" />}
      {shot.verdict !== "removed" && <SideImage image={shot.after} of={shot} alt="After" />}
    </span>
  );
}

interface SideImageProps {
  of: ShotWithVerdict;
  image: Image | null;
  alt: string;
}

function SideImage({ of, image, alt }: SideImageProps) {
  const aspect = boxAspect(of.viewport);
  const box = { style: { aspectRatio: String(aspect) } };
  if (!image) {
    return (
      <span class="thumbnail no-image" {...box}>
        <span class="thumbnail-none">Deleted</span>
      </span>
    );
  }
  const top = Math.min(...of.regions.map(([, top]) => top));
  // A thumbnail shows only the top of a long page. If nothing changed there, show the changed part.
  if (of.regions.length === 0 || top < viewportSize(of.viewport).height)
    return <Thumbnail image={image} aspect={aspect} alt={alt} />;
  return (
    <span class="thumbnail" {...box}>
      <img
        class="cut"
        src={image.url}
        alt={alt}
        loading="lazy"
        decoding="async"
        onLoad={({ currentTarget: { style, naturalWidth: width, naturalHeight: height } }) => {
          style.objectPosition = cutPosition(top, { width, height }, aspect);
        }}
      />
    </span>
  );
}
