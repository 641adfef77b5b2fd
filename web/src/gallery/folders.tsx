/** The list of folders beside the gallery, or above it on a narrow screen. */
import { useEffect, useRef, useState } from "preact/hooks";
import { formatNumber } from "../lib/format";
import type { Folder } from "./arrange";

interface FoldersProps {
  folders: Folder[];
  /** Called first: the folder's rows may not be on the page yet. */
  onJump: (path: string) => void;
}

export function Folders({ folders, onJump }: FoldersProps) {
  const [target, setTarget] = useState<{ path: string } | null>(null);
  const list = useRef<HTMLElement>(null);
  const current = useCurrentFolder(folders);
  useEffect(() => {
    if (target) goTo(target.path);
  }, [target]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs when the current folder changes
  useEffect(() => showCurrent(list.current), [current]);
  const jump = (path: string) => {
    onJump(path);
    setTarget({ path });
  };
  return (
    <nav ref={list} class="folders" aria-label="Folders">
      <ul>
        {folders.map(({ path, rows }) => (
          <li key={path}>
            <button
              type="button"
              title={path}
              onClick={() => jump(path)}
              {...(path === current ? { "aria-current": "true" as const } : {})}
            >
              <span>{path || "No folder"}</span> <span class="folder-count">{formatNumber(rows.length)}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const BELOW_TOOLBAR = 120;

const sections = () => [...document.querySelectorAll<HTMLElement>("[data-folder]")];

function goTo(path: string): void {
  const section = sections().find(({ dataset }) => dataset.folder === path);
  section?.scrollIntoView();
  section?.querySelector("h2")?.focus({ preventScroll: true });
}

/** The folder at the top of the screen, or the first one below it. */
function useCurrentFolder(folders: Folder[]): string | undefined {
  const [current, setCurrent] = useState<string>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: other folders have other positions
  useEffect(() => {
    const look = () => {
      const all = sections();
      const above = all.filter((each) => each.getBoundingClientRect().top < BELOW_TOOLBAR);
      setCurrent((above.at(-1) ?? all[0])?.dataset.folder);
    };
    let frame = 0;
    const onScroll = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(look);
    };
    look();
    window.addEventListener("scroll", onScroll, { passive: true });
    return () => {
      cancelAnimationFrame(frame);
      window.removeEventListener("scroll", onScroll);
    };
  }, [folders]);
  return current;
}

/** Scroll the list, not the page, so that the current folder is visible. */
function showCurrent(list: HTMLElement | null): void {
  const item = list?.querySelector<HTMLElement>("[aria-current]");
  if (!list || !item) return;
  const [seen, own] = [list.getBoundingClientRect(), item.getBoundingClientRect()];
  if (own.top < seen.top || own.bottom > seen.bottom) list.scrollTop += own.top - seen.top - seen.height / 2;
  if (own.left < seen.left || own.right > seen.right) list.scrollLeft += own.left - seen.left - 16;
}
