/** Line icons on a 16 px grid, drawn in the color of the text around them. */

import type { ComponentChildren } from "preact";

function Icon({ children }: { children: ComponentChildren }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const DownloadIcon = () => (
  <Icon>
    <path d="M8 2.75v7.5M4.75 7.25L8 10.5l3.25-3.25M3 13.25h10" />
  </Icon>
);

export const ExternalIcon = () => (
  <Icon>
    <path d="M9.5 2.75h3.75V6.5M13 3L7.5 8.5M11.75 9.5v3.25h-8.5v-8.5H6.5" />
  </Icon>
);

export const MoreIcon = () => (
  <Icon>
    <path d="M3.5 8h.01M8 8h.01M12.5 8h.01" stroke-width="2" />
  </Icon>
);

export const CopyIcon = () => (
  <Icon>
    <rect x="5.75" y="5.75" width="7.5" height="7.5" rx="1.5" />
    <path d="M10.25 3.5v-.25c0-.55-.45-1-1-1h-6c-.55 0-1 .45-1 1v6c0 .55.45 1 1 1h.25" />
  </Icon>
);

export const CheckIcon = () => (
  <Icon>
    <path d="M3 8.5l3.25 3.25L13 4.75" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon>
    <path d="M3.75 3.75l8.5 8.5M12.25 3.75l-8.5 8.5" />
  </Icon>
);

export const DownIcon = () => (
  <Icon>
    <path d="M4 6.25l4 4 4-4" />
  </Icon>
);

export const LeftIcon = () => (
  <Icon>
    <path d="M9.75 3.5L5.25 8l4.5 4.5" />
  </Icon>
);

export const RightIcon = () => (
  <Icon>
    <path d="M6.25 3.5l4.5 4.5-4.5 4.5" />
  </Icon>
);

export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4.25" />
    <path d="M10.25 10.25l3.25 3.25" />
  </Icon>
);

export const PlusIcon = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);

export const TrashIcon = () => (
  <Icon>
    <path d="M2.75 4.5h10.5M6.25 4.25V2.75h3.5v1.5M4.25 4.5l.5 8.75h6.5l.5-8.75" />
  </Icon>
);

/** The mark: four frames of a contact sheet, one of them picked. */
export const Mark = () => (
  <svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
    <g fill="none" stroke="currentColor" stroke-width="1.5">
      <rect x="1.75" y="2.75" width="7" height="6" rx="1" />
      <rect x="1.75" y="11.25" width="7" height="6" rx="1" />
      <rect x="11.25" y="11.25" width="7" height="6" rx="1" />
    </g>
    <rect class="picked" x="10.5" y="2" width="8.5" height="7.5" rx="1.5" />
  </svg>
);

export const MinusIcon = () => (
  <Icon>
    <path d="M3 8h10" />
  </Icon>
);

export const UpIcon = () => (
  <Icon>
    <path d="M4 9.75l4-4 4 4" />
  </Icon>
);

export const InfoIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.75" />
    <path d="M8 7.5v3.25M8 5.25v.01" />
  </Icon>
);

export const HelpIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.75" />
    <path d="M6.4 6.4a1.65 1.65 0 1 1 2.2 1.6c-.4.15-.6.45-.6.9M8 10.9v.01" />
  </Icon>
);

export const ListIcon = () => (
  <Icon>
    <path d="M2.75 4h.01M2.75 8h.01M2.75 12h.01M6 4h7.25M6 8h7.25M6 12h7.25" />
  </Icon>
);

export const HistoryIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.25" />
    <path d="M8 5v3.25l2 1.25" />
  </Icon>
);

export const CircleIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="4.75" />
  </Icon>
);

export const BlockedIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.25" />
    <path d="M4.3 4.3l7.4 7.4" />
  </Icon>
);

export const PauseIcon = () => (
  <Icon>
    <path d="M5.75 4v8M10.25 4v8" />
  </Icon>
);

export const NoteIcon = () => (
  <Icon>
    <path d="M2.75 3.25h10.5v7.5H8l-3 2.5v-2.5H2.75z" />
  </Icon>
);
