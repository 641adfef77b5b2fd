/** Quotas as the operator types them. Pure. */

import { formatBytes } from "../lib/format";

const UNITS = ["B", "KB", "MB", "GB", "TB"];

/** "" is null (the default) and "none" is 0 (no limit). Return undefined for anything but a size such as 20 GB. */
export function parseQuota(text: string): number | null | undefined {
  const given = text.trim().toUpperCase();
  if (given === "") return null;
  if (given === "NONE" || given === "0") return 0;
  const [, amount, unit = "B"] = /^(\d{1,15}(?:\.\d{1,3})?) ?(B|KB|MB|GB|TB)?$/.exec(given) ?? [];
  if (amount === undefined) return undefined;
  return Math.floor(Number(amount) * 1024 ** UNITS.indexOf(unit)) || undefined;
}

/** The text that gives this quota again, even if it isn't a round number. */
export function quotaText(bytes: number | null): string {
  if (bytes === null) return "";
  if (bytes === 0) return "none";
  return parseQuota(formatBytes(bytes)) === bytes ? formatBytes(bytes) : String(bytes);
}

/** "20 GB", "20 GB (default)", "no limit". */
export function describeQuota(bytes: number | null, defaultBytes: number): string {
  const limit = bytes ?? defaultBytes;
  const words = limit === 0 ? "no limit" : formatBytes(limit);
  return bytes === null ? `${words} (default)` : words;
}
