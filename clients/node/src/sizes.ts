/** Sizes for people. */

const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

/** 5 MB, 1.2 KB, 340 B. As in the service's limit, 1 MB is 1024 * 1024 bytes. Halves are rounded up. */
export function readableSize(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (unit < UNITS.length - 1 && Math.round(value) >= 1024) {
    value /= 1024;
    unit += 1;
  }
  const tenths = Math.round(value * 10);
  return `${tenths < 100 ? tenths / 10 : Math.round(value)} ${UNITS[unit]}`;
}
