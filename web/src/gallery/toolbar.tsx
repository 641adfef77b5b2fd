/** The filter above the gallery. */
import { formatNumber } from "../lib/format";
import { navigate } from "../lib/router";
import { SearchField } from "../ui";
import { type PullAddresses, pageHref } from "./addresses";
import { viewportLabel } from "./arrange";
import { isEverything, type Wanted } from "./finding";

interface ToolbarProps {
  at: PullAddresses;
  wanted: Wanted;
  /** As typed. */
  text: string;
  onText: (text: string) => void;
  viewports: string[];
  themes: string[];
  found: number;
  total: number;
}

export function Toolbar({ at, wanted, text, onText, viewports, themes, found, total }: ToolbarProps) {
  const choose = (change: Partial<Wanted>) =>
    navigate(pageHref(at, { wanted: { ...wanted, ...change } }), { replace: true });
  return (
    <search class="toolbar gallery-toolbar">
      <SearchField
        label="Filter screenshots by name"
        placeholder="Filter by name"
        text={text}
        onText={onText}
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
        labelOf={(theme) => theme.charAt(0).toUpperCase() + theme.slice(1)}
        current={wanted.theme}
        onChoose={(theme) => choose({ theme })}
        isUseful={themes.length > 0}
      />
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
