/** The light or dark theme: the user's choice in this browser, or the system's setting. */
import { Signal } from "./signal";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "theme";

export const theme = new Signal<Theme>("system");

/** Apply the user's choice. Call it before the first render. */
export function startTheme(): void {
  applyTheme(THEMES.find((known) => known === loadTheme()) ?? "system");
  // Changed in another tab.
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
