import { useEffect, useState } from "preact/hooks";
import { CheckIcon, CopyIcon } from "./icons";

const SHOWN_FOR_MS = 2_000;

interface CopyButtonProps {
  text: string;
  /** The button's text, like "Copy URL"; hidden if `quiet`. */
  label: string;
  /** Show only the icon; the label becomes the tooltip and is read by screen readers. */
  quiet?: boolean;
}

export function CopyButton({ text, label, quiet = false }: CopyButtonProps) {
  const [message, setMessage] = useState("");
  useEffect(() => {
    if (message === "") return;
    const timer = setTimeout(() => setMessage(""), SHOWN_FOR_MS);
    return () => clearTimeout(timer);
  }, [message]);
  const copy = async (event: MouseEvent) => {
    const near = event.currentTarget as HTMLElement;
    setMessage((await copyText(text, near)) ? "Copied" : "Press Ctrl+C to copy");
  };
  return (
    <span class="copy">
      <button type="button" class={quiet ? "icon-button" : "button plain"} title={label} onClick={copy}>
        {message === "Copied" ? <CheckIcon /> : <CopyIcon />}
        <span class={quiet ? "hidden" : ""}>{quiet || message === "" ? label : message}</span>
      </button>
      <span class={quiet && message !== "" ? "copy-message" : "hidden"} role="status">
        {message}
      </span>
    </span>
  );
}

/** Without https there is no clipboard API, except on localhost: copy the selection instead. */
async function copyText(text: string, near: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelection(text, near);
  }
}

function copySelection(text: string, near: HTMLElement): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.readOnly = true;
  area.className = "hidden";
  area.setAttribute("aria-hidden", "true");
  near.after(area); // beside the button: only text in the open dialog can be selected
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  near.focus();
  return copied;
}
