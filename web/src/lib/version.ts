/** This version. Snippets pin it: a CI job that holds secrets must not install the newest version unseen. */
export const VERSION = "0.1.0";
