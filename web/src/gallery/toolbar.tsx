/** The filter above the gallery. */
import { capitalized, formatNumber } from "../lib/format";
import { navigate } from "../lib/router";
import { type PullAddresses, pageHref, type Tab } from "../pull/urls";
import { SearchField } from "../ui";
import { viewportLabel } from "./arrange";
import { isEverything, type Wanted } from "./shot-filter";
import type { Wanting } from "./use-shot-filter";

interface ToolbarProps {
  at: PullAddresses;
  tab: Tab;
  wanting: Wanting;
  viewports: string[];
  themes: string[];
  /** Not given where something else filters by verdict. */
  verdicts?: string[];
  found: number;
  total: number;
}

export function Toolbar(props: ToolbarProps) {
  const { at, tab, wanting, viewports, themes, verdicts, found, total } = props;
  const { wanted, text, setText } = wanting;
  const choose = (change: Partial<Wanted>) =>
    navigate(pageHref(at, { tab, wanted: { ...wanted, ...change } }), { replace: true });
  return (
    <search class="toolbar gallery-toolbar">
      <SearchField
        label="Filter screenshots by name"
        placeholder="Filter by name"
        text={text}
        onText={setText}
        shortcut="/"
      />
      <Choose
        label="Viewport"
        all="All viewports"
        options={viewports}
        labelOf={viewportLabel}
        current={wanted.viewport}
        onChoose={(viewport) => choose({ viewport })}
        isUseful={viewports.length > 1}
      />
      <Choose
        label="Theme"
        all="All themes"
        options={themes}
        labelOf={capitalized}
        current={wanted.theme}
        onChoose={(theme) => choose({ theme })}
        isUseful={themes.length > 0}
      />
      {verdicts && (
        <Choose
          label="Verdict"
          all="All verdicts"
          options={verdicts}
          labelOf={capitalized}
          current={wanted.verdict}
          onChoose={(verdict) => choose({ verdict })}
          isUseful={verdicts.length > 0}
        />
      )}
      <p class="toolbar-count" role="status">
        {isEverything(wanted) ? "" : `${formatNumber(found)} of ${formatNumber(total)}`}
      </p>
    </search>
  );
}

interface ChooseProps {
  label: string;
  /** The option that filters nothing. */
  all: string;
  options: string[];
  labelOf: (option: string) => string;
  current: string;
  onChoose: (option: string) => void;
  /** Whether there is something to choose. What the URL chose is shown anyway. */
  isUseful: boolean;
}

function Choose({ label, all, options, labelOf, current, onChoose, isUseful }: ChooseProps) {
  if (!isUseful && current === "") return null;
  const listed = current === "" || options.includes(current) ? options : [...options, current];
  return (
    <select
      aria-label={label}
      value={current}
      onChange={({ currentTarget }) => onChoose(currentTarget.value)}
    >
      <option value="">{all}</option>
      {listed.map((option) => (
        <option key={option} value={option}>
          {labelOf(option)}
        </option>
      ))}
    </select>
  );
}
