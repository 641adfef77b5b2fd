/** The filter above the gallery. */
import type { ComponentChildren } from "preact";
import { capitalize, formatCount, formatNumber } from "../lib/format";
import { navigate } from "../lib/router";
import { type ChangesUrls, pageHref, type Tab } from "../pull/urls";
import { SearchField } from "../ui";
import { isUnfiltered, type ShotFilter } from "./shot-filter";
import { viewportLabel } from "./shot-key";
import type { ShotFilterInput } from "./use-shot-filter";

interface ToolbarProps {
  urls: ChangesUrls;
  tab: Tab;
  filterInput: ShotFilterInput;
  viewports: string[];
  themes: string[];
  /** Omitted on tabs with a separate verdict filter. */
  verdicts?: string[];
  found: number;
  total: number;
  /** More controls. */
  children?: ComponentChildren;
}

export function Toolbar(props: ToolbarProps) {
  const { urls, tab, filterInput, viewports, themes, verdicts, found, total, children } = props;
  const { filter, text, setText } = filterInput;
  const choose = (change: Partial<ShotFilter>) =>
    navigate(pageHref(urls, { tab, filter: { ...filter, ...change } }), { replace: true });
  return (
    <search class="toolbar gallery-toolbar">
      <SearchField
        label="Filter screenshots by name"
        placeholder="Filter by name"
        text={text}
        onText={setText}
        shortcut="/"
      />
      <FilterSelect
        label="Viewport"
        all="All viewports"
        options={viewports}
        labelOf={viewportLabel}
        current={filter.viewport}
        onChoose={(viewport) => choose({ viewport })}
        isUseful={viewports.length > 1}
      />
      <FilterSelect
        label="Theme"
        all="All themes"
        options={themes}
        labelOf={capitalize}
        current={filter.theme}
        onChoose={(theme) => choose({ theme })}
        isUseful={themes.length > 0}
      />
      {verdicts && (
        <FilterSelect
          label="Verdict"
          all="All verdicts"
          options={verdicts}
          labelOf={capitalize}
          current={filter.verdict}
          onChoose={(verdict) => choose({ verdict })}
          isUseful={verdicts.length > 0}
        />
      )}
      <p class="toolbar-count" role="status">
        {isUnfiltered(filter) ? "" : `${formatNumber(found)} of `}
        {formatCount(total, "screenshot")}
      </p>
      {children}
    </search>
  );
}

interface FilterSelectProps {
  label: string;
  /** The label of the option that removes the filter. */
  all: string;
  options: string[];
  labelOf: (option: string) => string;
  current: string;
  onChoose: (option: string) => void;
  /** Whether there is anything to choose. A value in the URL is shown anyway. */
  isUseful: boolean;
}

function FilterSelect({ label, all, options, labelOf, current, onChoose, isUseful }: FilterSelectProps) {
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
