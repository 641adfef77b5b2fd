import { useEffect, useRef, useState } from "preact/hooks";
import { navigate } from "./router";

const TYPING_MS = 250;

/** The text of a field, kept in the URL. `text` changes with every key, the URL after a pause. */
export function useUrlText(
  inUrl: string,
  address: (text: string) => string,
): [text: string, setText: (text: string) => void] {
  const [text, setText] = useState(inUrl);
  const sent = useRef(inUrl);
  const latest = useRef(address);
  latest.current = address;
  useEffect(() => {
    if (inUrl !== sent.current) setText(inUrl); // the URL changed: Back, or a link
    sent.current = inUrl;
  }, [inUrl]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a URL that already has the text doesn't change
  useEffect(() => {
    const wanted = text.trim();
    if (wanted === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = wanted;
      navigate(latest.current(wanted), { replace: true });
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, inUrl]);
  return [text, setText];
}
