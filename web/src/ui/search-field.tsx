import { SearchIcon } from "./icons";

interface SearchFieldProps {
  /** For screen readers. */
  label: string;
  placeholder: string;
  text: string;
  onText: (text: string) => void;
  /** The key that moves the focus here. */
  shortcut?: string;
}

export function SearchField({ label, placeholder, text, onText, shortcut }: SearchFieldProps) {
  return (
    <div class="search">
      <SearchIcon />
      <input
        type="search"
        aria-label={label}
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        {...(shortcut ? { "aria-keyshortcuts": shortcut } : {})}
        onInput={({ currentTarget }) => onText(currentTarget.value)}
      />
      {shortcut && <kbd>{shortcut}</kbd>}
    </div>
  );
}
