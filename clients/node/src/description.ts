/** Replace deleted screenshots in a pull request's description, where agents and people paste them. */
import { messageOf, PrshotsError } from "./errors.js";
import type { Forge } from "./forges/forge.js";
import { Queue } from "./queue.js";
import { message } from "./statements.js";

/** How many addresses to request. Others stay as they are. */
const MAX_IMAGES = 50;
const CONCURRENT_QUESTIONS = 8;
const TIMEOUT_SECONDS = 2;

/** A fenced block, and inline code. */
const CODE =
  /^[ \t>]*(`{3,}(?![^\n]*`)|~{3,})[^\n]*(?:\n(?![ \t>]*\1)[^\n]*)*(?:\n[^\n]*)?|(?<!`)(`+)(?!`)(?:[^\n]|\n(?!\s*\n))*?(?<!`)\2(?!`)/
    .source;
const PATH = /\/i\/[0-9a-f]{32}\.[a-z0-9.]+\?exp=[0-9]+&(?:amp;)?token=[A-Za-z0-9_.-]+/.source;
const ADDRESS = String.raw`(https?://[^\s()<>"'\[\]]*${PATH})`;
const MARKDOWN = String.raw`!\[(?:\\.|\[[^\[\]\n]*\]|[^\[\]\\\n])*\]\(<?${ADDRESS}>?(?: +"[^"\n]*")?\)`;
const HTML = String.raw`<img\b[^<>]*\ssrc\s*=\s*["']${ADDRESS}["'][^<>]*>`;
const LINKED = String.raw`\[${MARKDOWN}\]\([^()\n]*\)|<a\b[^<>]*>\s*${HTML}\s*</a>`;
/** Code, which shows no images, or an image with its link. The last group of an image is its address. */
const PARTS = new RegExp(`${CODE}|${LINKED}|${MARKDOWN}|${HTML}`, "gm");

/** Return the addresses that look like images of a prshots service. */
export function findImages(text: string): string[] {
  const found = [...text.matchAll(PARTS)].map(([, ...groups]) => addressIn(groups));
  return [...new Set(found.filter((address) => address.includes("://")))];
}

/** Return the text with words in place of these images and the links around them. */
export function replaceImages(text: string, deleted: ReadonlySet<string>): string {
  const words = message("screenshot_deleted");
  return text.replace(PARTS, (part, ...groups) =>
    deleted.has(addressIn(groups.slice(0, 6))) ? words : part,
  );
}

/** Replace deleted images. Return how many, and why it couldn't. */
export async function cleanDescription(
  forge: Forge,
  prNumber: number,
): Promise<{ replaced: number; notDescribed: string }> {
  try {
    const addresses = findImages(await forge.description(prNumber));
    const deleted = await findDeleted(addresses.slice(0, MAX_IMAGES));
    if (!deleted.size) return { replaced: 0, notDescribed: "" };
    const text = await forge.description(prNumber); // again: somebody may have changed it
    const cleaned = replaceImages(text, deleted);
    if (cleaned !== text) await forge.setDescription(prNumber, cleaned);
    return { replaced: deleted.size, notDescribed: "" };
  } catch (error) {
    if (error instanceof PrshotsError) return { replaced: 0, notDescribed: messageOf(error) };
    throw error;
  }
}

/** Request each address, without a token: only the service knows which images became baselines. */
async function findDeleted(addresses: string[]): Promise<Set<string>> {
  const deleted = new Set<string>();
  const queue = new Queue(CONCURRENT_QUESTIONS);
  for (const address of addresses)
    queue.add(async () => {
      const signal = AbortSignal.timeout(TIMEOUT_SECONDS * 1000);
      const asked = { method: "HEAD", redirect: "manual", signal } as const;
      const reply = await fetch(address.replaceAll("&amp;", "&"), asked).catch(() => undefined);
      if (reply?.status === 410) deleted.add(address);
    });
  await queue.idle();
  return deleted;
}

function addressIn(groups: (string | undefined)[]): string {
  return groups.filter((group) => group !== undefined).at(-1) ?? "";
}
