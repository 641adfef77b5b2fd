import { formatCount } from "../lib/format";

/** A row of bars that fills its container. `label` describes it for screen readers. */
export function Bars({ values, label, titles }: { values: number[]; label: string; titles?: string[] }) {
  const top = Math.max(1, ...values);
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${values.length} 100`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.map((value, index) => {
        const height = value === 0 ? 1.5 : Math.max(4, (value / top) * 100);
        return (
          <rect
            // biome-ignore lint/suspicious/noArrayIndexKey: a bar is identified by its position
            key={index}
            class={value === 0 ? "none" : ""}
            x={index + 0.14}
            y={100 - height}
            width={0.72}
            height={height}
          >
            {titles && <title>{titles[index]}</title>}
          </rect>
        );
      })}
    </svg>
  );
}

/** "Uploads per day in the last 30 days: 312 screenshots, 60 on the busiest day." */
export function describeUploads(perDay: readonly number[]): string {
  const all = perDay.reduce((sum, uploads) => sum + uploads, 0);
  const days = `the last ${perDay.length} days`;
  if (all === 0) return `No uploads in ${days}.`;
  return `Uploads per day in ${days}: ${formatCount(all, "screenshot")}, ${Math.max(...perDay)} on the busiest day.`;
}
