import { Link } from "../lib/router";

interface ChoiceProps<Id extends string> {
  /** Describes the options to screen readers. */
  label: string;
  options: readonly { id: Id; label: string }[];
  current: Id;
  /** The URL of each option: the choice is part of the URL. */
  href: (id: Id) => string;
  /** "choice": underlined links that may wrap. "segments": a row of buttons. */
  look?: "choice" | "segments";
  /** Replace the current history entry instead of adding one. */
  replace?: boolean;
}

/** A choice between a few options, side by side. */
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
