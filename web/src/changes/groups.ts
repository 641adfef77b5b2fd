/** The shots of a comparison by group. Pure. */
import { capitalize, formatCount, formatNumber } from "../lib/format";
import { sortNaturally } from "../lib/natural-order";
import type { Comparison, GroupKind, ReviewState } from "../lib/types";
import { listPeople } from "../review/reviews";
import { describeVerdict, type ShotWithVerdict } from "./verdicts";

/** Shots under one heading: a group, the shots of a verdict without groups, or shots that nobody has to review. */
export interface Section {
  /** The group’s id, the verdict, or the state of the reviews. */
  id: string;
  title: string;
  /** null if this isn’t a group. */
  kind: GroupKind | null;
  shots: ShotWithVerdict[];
}

/** Failed shots first, then by group, in the service’s order, then by name. Others without a group come last. */
export function sortByGroup(shots: ShotWithVerdict[], groups: Comparison["groups"]): ShotWithVerdict[] {
  const places = new Map(groups.map(({ id }, index) => [id, index]));
  const placeOf = ({ group, verdict }: ShotWithVerdict) =>
    verdict === "failed" ? -1 : (places.get(group) ?? groups.length);
  const byName = sortNaturally(shots, ({ name }) => name);
  return byName.sort((one, other) => placeOf(one) - placeOf(other));
}

/** Sections in the order of their first shots, so they stay in place while verdicts arrive. Close-ups come first. */
export function toSections(shots: ShotWithVerdict[], groups: Comparison["groups"]): Section[] {
  const known = new Map(groups.map((group) => [group.id, group]));
  const sections = new Map<string, Section>();
  for (const shot of shots) {
    const quiet = QUIET[shot.review.state];
    const group = quiet ? undefined : known.get(shot.group);
    const id = group?.id ?? (quiet ? shot.review.state : shot.verdict);
    const section = sections.get(id) ?? {
      id,
      title: group?.title ?? "",
      kind: group?.kind ?? null,
      shots: [],
    };
    section.shots.push(shot);
    sections.set(id, section);
  }
  const all = [...sections.values()].map((section) => ({
    ...section,
    title: section.title || sectionTitle(section),
    shots: leadFirst(section.shots),
  }));
  return [...all.filter((section) => !isQuiet(section)), ...all.filter(isQuiet)];
}

/** Shots that need no decision, at the end of the page: the words after their count. */
const QUIET: Partial<Record<ReviewState, string>> = {
  seen_before: "alternating as before",
  quarantined: "in quarantine",
};

export const isQuiet = ({ id }: Section): boolean => id in QUIET;

export interface Decided {
  state: "approved" | "rejected";
  /** "Approved by ann", "1 of 6 rejected by ann" */
  words: string;
}

/** What people decided about a section. One rejected shot rejects it, and one open shot leaves it open: null. */
export function decidedIn({ shots }: Section): Decided | null {
  const inState = (state: ReviewState) => shots.filter(({ review }) => review.state === state);
  const [rejected, open, approved] = [inState("rejected"), inState("open"), inState("approved")];
  const those = rejected.length > 0 ? rejected : approved;
  if (those.length === 0 || (those === approved && open.length > 0)) return null;
  const state = those === rejected ? "rejected" : "approved";
  const total = rejected.length + open.length + approved.length;
  const part = those.length < total ? `${formatNumber(those.length)} of ${formatNumber(total)} ` : "";
  const by = listPeople(those);
  return { state, words: capitalize(`${part}${state}${by && ` by ${by}`}`) };
}

/** Whether nothing is left to look at. */
export const isDone = (section: Section): boolean =>
  isQuiet(section) || decidedIn(section)?.state === "approved";

function leadFirst(shots: ShotWithVerdict[]): ShotWithVerdict[] {
  const lead = shots.find(({ closeups }) => closeups.length > 0);
  return lead ? [lead, ...shots.filter((shot) => shot !== lead)] : shots;
}

const sectionTitle = ({ id, shots }: Section): string => {
  const words = QUIET[id as ReviewState] ?? describeVerdict(shots[0]?.verdict ?? "changed");
  return `${formatCount(shots.length, "screenshot")} ${words}`;
};

export interface IndexEntry {
  /** The first section. */
  id: string;
  label: string;
  /** 0 if the label already says how many. */
  shots: number;
}

const KINDS: Partial<Record<GroupKind, string>> = {
  removed: "Removed",
  single: "Single changes",
  new: "New",
};

/** The links at the top of the page. Kinds with a group for each name get only one. */
export function indexSections(sections: Section[]): IndexEntry[] {
  const entries = new Map<string, IndexEntry>();
  for (const { id, title, kind, shots } of sections) {
    const label = kind && KINDS[kind];
    const entry = entries.get(label ?? id) ?? { id, label: label ?? title, shots: 0 };
    if (label) entry.shots += shots.length;
    entries.set(label ?? id, entry);
  }
  return [...entries.values()];
}

/** The first `most` shots. */
export function firstShots(sections: Section[], most: number): Section[] {
  let left = most;
  return sections.flatMap((section) => {
    const shots = section.shots.slice(0, Math.max(0, left));
    left -= shots.length;
    return shots.length > 0 ? [{ ...section, shots }] : [];
  });
}
