/**
 * Runs git in a checkout: without prompts, hooks or a time without end.
 *
 * The checkout may be a stranger's. Its names only appear in arguments that start with `refs/`, as 40 hexadecimal digits,
 * or after `--end-of-options`, so none of them can be an option. Its configuration must not run programs: git only runs
 * those that the user's own configuration and environment name.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { message } from "../statements.js";
import * as validate from "./validate.js";

const LOCAL_SECONDS = 30;
const FETCH_SECONDS = 120;
const TELL_AFTER_SECONDS = 1;
/** How long to wait for another git process that holds a lock, between the tries. */
const LOCK_PAUSES = [0.2, 0.5, 1, 2, 4];
const MAX_REASON_CHARACTERS = 300;
const LOCKED = /\.lock'|shallow file has changed|another git process/i;
const FIRST_WORDS = /^(?:fatal|error): /;

const SAFE = [
  "safe.bareRepository=explicit", // ordinary files of a checkout can be a bare repository
  "core.alternateRefsCommand=true",
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "protocol.ext.allow=never",
  "fetch.recurseSubmodules=false",
  "fetch.prune=false",
  "fetch.pruneTags=false",
  "gc.auto=0",
  "maintenance.auto=false",
  "log.showSignature=false",
].flatMap((setting) => ["-c", setting]);

/** Settings with which a repository could make a fetch run programs, and harmless values. */
const PROGRAMS: Record<string, string> = {
  "core.sshcommand": "ssh",
  "core.askpass": "",
  "credential.helper": "",
  "hook.command": "true",
  "http.savecookies": "false", // writes to any file
};

/** Variables that make git fail instead of asking a person, run no programs of the repository, and speak English. */
const VARIABLES = {
  GIT_NO_LAZY_FETCH: "1", // would run the remote's `uploadpack`
  GIT_PROXY_COMMAND: "", // overrides core.gitProxy
  GIT_TERMINAL_PROMPT: "0",
  GCM_INTERACTIVE: "never",
  SSH_ASKPASS_REQUIRE: "never",
  LC_ALL: "C",
};

let deadline = Number.POSITIVE_INFINITY;

/** Give all git commands of this process until then, a Unix time in seconds. */
export function limitGit(until: number): void {
  deadline = until;
}

export type Say = (words: string) => void;

/** What git printed; `error` is why it failed, and empty if it did not. */
export interface Ran {
  output: string;
  error: string;
}

/** Run a command that needs no network. Never rejects. */
export function git(...words: string[]): Promise<Ran> {
  return run(words, LOCAL_SECONDS);
}

/**
 * Fetch from the remote, with at most `depth` commits of history; 0 for all. Another process may hold a lock: then try
 * again. After a second, `say` is called about the history of `what`. Never rejects.
 */
export async function fetchFrom(refspec: string, depth: number, say: Say, what: string): Promise<Ran> {
  const limit = depth ? [`--depth=${depth}`] : [];
  const command = ["fetch", "--no-tags", "--no-recurse-submodules", ...limit];
  const tell = () => say(message("fetching_history", { what }));
  for (let tries = 0; ; tries++) {
    const ran = await askRemote(command, refspec, tell);
    const seconds = LOCK_PAUSES[tries];
    if (seconds === undefined || !LOCKED.test(ran.error)) return ran;
    await pause(seconds * 1000);
  }
}

/** Return the remote's refs that match a pattern, each as its commit, a tab and its name. Never rejects. */
export function remoteRefs(pattern: string): Promise<Ran> {
  return askRemote(["ls-remote"], pattern);
}

async function askRemote(command: string[], ref: string, onWait?: () => void): Promise<Ran> {
  const remote = await remoteName();
  if (!remote) return { output: "", error: message("no_remote") };
  const { programs, error } = await ownPrograms();
  if (error) return { output: "", error };
  const options = ["--quiet", "--upload-pack=git-upload-pack", "--end-of-options", remote, ref];
  return run([...programs, ...command, ...options], FETCH_SECONDS, onWait);
}

/** Return options that replace the programs that the repository names by the user's, or why that failed. */
async function ownPrograms(): Promise<{ programs: string[]; error: string }> {
  const { output, error } = await git("config", "--list", "--show-scope", "-z");
  const [ofRepository, ofUser]: [string[], string[]] = [["credential.helper="], []];
  for (const [, scope = "", key = "", value = ""] of output.matchAll(/(\w+)\0([^\n\0]+)(?:\n([^\0]*))?\0/g)) {
    const harmless = PROGRAMS[key.replace(/^([^.]+)\..*\./s, "$1.")];
    if (harmless === undefined) continue;
    // Git would cut the name at the sign.
    if (key.includes("=")) return { programs: [], error: message("git_setting_not_replaced", { key }) };
    if (/^(local|worktree)$/.test(scope)) ofRepository.push(`${key}=${harmless}`);
    else ofUser.push(`${key}=${value}`);
  }
  const settings = ofRepository.length > 1 ? [...ofRepository, ...ofUser] : [];
  return { programs: settings.flatMap((setting) => ["-c", setting]), error };
}

function run(words: string[], usual: number, onWait: () => void = () => {}): Promise<Ran> {
  const seconds = Math.max(Math.min(usual, Math.round(deadline - Date.now() / 1000)), 1);
  return new Promise((resolve) => {
    const child = spawn(gitProgram(), ["--no-pager", ...SAFE, ...words], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...VARIABLES },
      detached: process.platform !== "win32", // without a terminal, ssh does not ask anything either
    });
    const [output, said] = [textOf(child.stdout), textOf(child.stderr)];
    const end = (ran: Ran) => {
      clearTimeout(told);
      clearTimeout(late);
      resolve(ran);
    };
    const told = setTimeout(onWait, TELL_AFTER_SECONDS * 1000);
    const late = setTimeout(() => {
      kill(child);
      end({ output: "", error: message("git_too_slow", { seconds }) });
    }, seconds * 1000);
    child.on("error", (error: NodeJS.ErrnoException) =>
      end({ output: "", error: message("git_does_not_run", { why: error.code ?? error.message }) }),
    );
    child.on("close", (code) =>
      end(code === 0 ? { output: output(), error: "" } : { output: "", error: reasonIn(said()) }),
    );
  });
}

/**
 * Return git's file on Windows, where Node 20 would first look in the working folder, which may hold a stranger's git.exe.
 * Elsewhere return its name.
 */
export function gitProgram(environ = process.env, platform: string = process.platform): string {
  if (platform !== "win32") return "git";
  const folders = (environ.PATH ?? "").split(";").filter(path.win32.isAbsolute);
  const files = folders.map((folder) => path.join(folder, "git.exe"));
  return files.find((file) => existsSync(file)) ?? "C:\\no\\git.exe"; // a file that does not exist: git does not run
}

/** Collect what a stream says. */
function textOf(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString("utf8");
}

/** Kill git and the programs that it has started. */
function kill(child: ChildProcess): void {
  try {
    if (process.platform === "win32" || child.pid === undefined) child.kill("SIGKILL");
    else process.kill(-child.pid, "SIGKILL");
  } catch {
    // it has just ended
  }
}

/** Return git's reason in one line. It may contain an address with a password. */
function reasonIn(said: string): string {
  const lines = said.split("\n").filter((line) => line.trim());
  const reason = lines.find((line) => FIRST_WORDS.test(line)) ?? lines[0] ?? "";
  const shown = reason.replace(FIRST_WORDS, "").replace(/:\/\/[^\s/]*@/g, "://[hidden]@");
  return shown.trim().replace(/\.+$/, "").slice(0, MAX_REASON_CHARACTERS) || message("git_failed");
}

/** Return the commit of `HEAD`, of a ref that starts with `refs/`, or of a SHA; nothing if it is not here. */
export async function commitAt(revision: string): Promise<string> {
  const commit = `${revision}^{commit}`;
  const found = await git("rev-parse", "--verify", "--quiet", "--end-of-options", commit);
  return validate.fullCommit(found.output);
}

/** Return the remote to fetch from: origin, or the only one; nothing if there is none. */
export async function remoteName(): Promise<string> {
  const names = (await git("remote")).output.split(/\s+/).filter(Boolean);
  if (names.includes("origin")) return "origin";
  const [only = ""] = names;
  return names.length === 1 && !only.startsWith("-") ? only : "";
}

export async function isShallow(): Promise<boolean> {
  return (await git("rev-parse", "--is-shallow-repository")).output.trim() === "true";
}
