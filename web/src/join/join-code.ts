/** The secret of an invitation link, from the part of its URL after the #. */

const KEY = "prshots-join";
const CODE = /^[\w-]{43}$/;

/**
 * Keeps the secret in this tab and removes it from the address bar. Signing in replaces the page, and the path to
 * return to must not contain the secret: login providers would see it.
 */
export function keepJoinCode(): void {
  const code = window.location.hash.slice(1);
  if (window.location.pathname !== "/join" || !CODE.test(code)) return;
  sessionStorage.setItem(KEY, code);
  window.history.replaceState(window.history.state, "", "/join");
}

export const readJoinCode = (): string => sessionStorage.getItem(KEY) ?? "";

export const forgetJoinCode = (): void => sessionStorage.removeItem(KEY);
