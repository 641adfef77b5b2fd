import { Link } from "../lib/router";

interface ChoiceProps<Id extends string> {
  /** What is chosen, for screen readers. */
  label: string;
  options: readonly { id: Id; label: string }[];
  current: Id;
  /** Where each leads: what is chosen is a part of the address. */
  href: (id: Id) => string;
  /** Underlined words for what may be more than fits one line, else buttons in a row. */
  look?: "choice" | "segments";
  /** Take the place of the current entry in the browser's history, instead of adding one. */
  replace?: boolean;
}

/** One of a few, side by side. */
export function Choice<Id extends string>(props: ChoiceProps<Id>) {
  const { label, options, current, href, look = "choice", replace = true } = props;
  return (
    <nav class={look} aria-label={label}>
      {options.map(({ id, label: words }) => (
        <Link
          key={id}
          href={href(id)}
          replace={replace}
          {...(id === current ? { "aria-current": "true" as const } : {})}
        >
          {words}
        </Link>
      ))}
    </nav>
  );
}
