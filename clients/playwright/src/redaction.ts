/** Return a text for a log without these secrets: a service or a forge may repeat one in its reply. */
export function redacted(text: string, secrets: (string | undefined)[]): string {
  const known = secrets.map((secret) => secret?.trim() ?? "").filter(Boolean);
  return known
    .reduce((left, secret) => left.replaceAll(secret, "[hidden]"), text)
    .replace(/msr_\w+/g, "msr_[hidden]");
}
