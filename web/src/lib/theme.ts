/** Light or dark: what the user chose in this browser, or what the system asks for. */
import { Signal } from "./signal";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "theme";

export const theme = new Signal<Theme>("system");

/** Show the page as the user chose. Call it before the first render. */
export function startTheme(): void {
  applyTheme(THEMES.find((known) => known === loadTheme()) ?? "system");
  // Another tab: both show the same.
  window.addEventListener("storage", () =>
    applyTheme(THEMES.find((known) => known === loadTheme()) ?? "system"),
  );
}

export function chooseTheme(chosen: Theme): void {
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // Storage full or forbidden: the choice lasts as long as the page.
  }
  applyTheme(chosen);
}

function applyTheme(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen;
  theme.value = chosen;
}

function loadTheme(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}
