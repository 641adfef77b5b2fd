import { createContext } from "preact";
import { useContext } from "preact/hooks";
import { includesRole } from "./roles";
import type { Role } from "./types";

/** The user's role in the project of the page. Until it is known, the least. */
export const ProjectRole = createContext<Role>("viewer");

/** Whether the user may do what needs this role in the project of the page. */
export const useMay = (needed: Role): boolean => includesRole(useContext(ProjectRole), needed);
