/** This version. Snippets pin it: a CI job that holds secrets must not install whatever is newest. */
export const VERSION = "0.1.0";
