import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";

interface MenuProps {
  /** The button's content. */
  button: ComponentChildren;
  /** The button's accessible name, because its content may be an icon. */
  label: string;
  /** The items: `li` elements with a button or a link. A click on one closes the menu. */
  children: ComponentChildren;
}

/** A button that opens a short list of actions below itself. */
export function Menu({ button, label, children }: MenuProps) {
  const id = useId();
  const opener = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLUListElement>(null);
  const place = (event: { newState: string }) => {
    const at = opener.current?.getBoundingClientRect();
    if (event.newState !== "open" || !at || !menu.current) return;
    menu.current.style.top = `${at.bottom + 4}px`;
    menu.current.style.right = `${document.documentElement.clientWidth - at.right}px`;
  };
  return (
    <>
      <button
        ref={opener}
        type="button"
        class="button plain menu-button"
        popovertarget={id}
        title={label}
        aria-label={label}
      >
        {button}
      </button>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the buttons in it handle the keys */}
      <ul
        ref={menu}
        id={id}
        class="menu actions-menu"
        popover="auto"
        onBeforeToggle={place}
        onClick={() => menu.current?.hidePopover()}
      >
        {children}
      </ul>
    </>
  );
}
