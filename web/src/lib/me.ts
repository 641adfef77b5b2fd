import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Me } from "./types";

export const MeContext = createContext<Me | null>(null);

/** The signed-in user, their organizations and the service's addresses. Only inside the shell. */
export function useMe(): Me {
  const me = useContext(MeContext);
  if (me === null) throw new Error("useMe outside the shell");
  return me;
}
