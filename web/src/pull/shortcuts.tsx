/** Keyboard shortcuts of the pull request page, and the dialog that lists them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { KEYS, pageKeyAction } from "../lightbox/keys";
import { Button, Dialog } from "../ui";

/** Listens to keys while no dialog is open. Returns the help dialog's state, which the lightbox shares. */
export function useShortcuts(): { help: boolean; setHelp: (open: boolean) => void } {
  const [help, setHelp] = useState(false);
  usePageKeys((event) => {
    const action = pageKeyAction(event);
    if (!action) return;
    event.preventDefault();
    if (action === "help") setHelp(true);
    else if (action === "filter") focusFilter();
    else focusNeighbor(action === "next" ? 1 : -1);
  });
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Enter" && event.target === filterField()) focusFirst();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
  return { help, setHelp };
}

/** Calls `act` for each key, unless the user types or a dialog is open. */
export function usePageKeys(act: (event: KeyboardEvent) => void): void {
  const latest = useRef(act);
  latest.current = act;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (!isTyping(event.target) && !document.querySelector("dialog[open]")) latest.current(event);
    };
    window.addEventListener("keydown", onKeyDown);
    return () => window.removeEventListener("keydown", onKeyDown);
  }, []);
}

export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.matches("input, textarea, select, [contenteditable]");

const filterField = () => document.querySelector<HTMLInputElement>(".gallery-toolbar input");

function focusFilter(): void {
  filterField()?.focus();
  filterField()?.select();
}

/** Focus the first shot that matches the filter. */
const focusFirst = () => document.querySelector<HTMLElement>("[data-cell]")?.focus();

/** Move the focus from the focused shot, or to the first one on the screen. */
function focusNeighbor(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>("[data-cell]")];
  const current = links.indexOf(document.activeElement as HTMLElement);
  const top = document.querySelector(".gallery-toolbar")?.getBoundingClientRect().bottom ?? 0;
  const seen = links.findIndex((link) => link.getBoundingClientRect().top >= Math.max(0, top));
  const next = links[current < 0 ? Math.max(0, seen) : current + step];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

export function ShortcutsDialog({ keys = KEYS, onClose }: { keys?: typeof KEYS; onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {keys.map(({ where, keys: each }) => (
        <section key={where} class="shortcuts">
          <h3>{where}</h3>
          <dl>
            {each.map(([names, does]) => (
              <div key={names}>
                <dt>
                  {names.split(" ").map((name) => (
                    <kbd key={name}>{name}</kbd>
                  ))}
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
