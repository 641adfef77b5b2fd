/** The connection to the forge, with which the service posts commit statuses and comments itself. */
import { useState } from "preact/hooks";
import { send } from "../lib/api";
import { describeRetry, formatCount } from "../lib/format";
import { useLive } from "../lib/live";
import { Link } from "../lib/router";
import type { ConnectionReply, ForgeKind, Outbox, Project } from "../lib/types";
import { Button, confirmDialog, Failed, Field, Mono, Time, toast, useAction } from "../ui";

const FORGES: Record<ForgeKind, { label: string; permission: string }> = {
  github: {
    label: "GitHub",
    permission: "A fine-grained token with write access to commit statuses and pull requests.",
  },
  gitlab: {
    label: "GitLab",
    permission: "A project access token with the scope api and the role Developer or higher.",
  },
  gitea: {
    label: "Gitea or Forgejo",
    permission: "A token with the scopes write:repository, write:issue and read:user.",
  },
  bitbucket: {
    label: "Bitbucket",
    permission:
      "A repository access token with write access to pull requests and read access to the repository.",
  },
};

export function ConnectionSettings({ project }: { project: Project }) {
  const path = `/projects/${project.id}/connection`;
  const { data, error, refresh } = useLive<ConnectionReply>(path);
  const connection = data?.connection;
  const action = useAction();
  const disconnect = async () => {
    const sure = await confirmDialog({
      title: "Disconnect the forge?",
      body: <p>The service deletes the token, and no longer posts commit statuses and comments itself.</p>,
      action: "Disconnect",
    });
    if (!sure) return;
    await action.run(async () => {
      await send("DELETE", path);
      await refresh();
      toast("Disconnected the forge.");
    });
  };
  return (
    <section class="section split" id="connection">
      <h2>Connection</h2>
      <div class="stack">
        <p class="quiet">
          With a connection, the service itself posts the commit status right after a decision. Without one,
          the next run of the job does.
        </p>
        {!data && error && <Failed error={error} retry={refresh} />}
        {connection && (
          <div>
            <p>
              {FORGES[connection.forge].label}: <Mono>{connection.repository}</Mono>
              {connection.uses_app && " through the service’s GitHub App"}
            </p>
            <p class="quiet small">
              {connection.created_by && `Connected by ${connection.created_by}, `}
              <Time at={connection.created_at} />
            </p>
            {connection.problem && <p class="field-error">{connection.problem}</p>}
            <p class="actions">
              <Button busy={action.busy} onClick={() => void disconnect()}>
                Disconnect
              </Button>
            </p>
          </div>
        )}
        {data && !connection?.uses_app && (
          <ConnectForm
            key={project.repository}
            path={path}
            repository={project.repository}
            isConnected={Boolean(connection)}
            onSaved={refresh}
          />
        )}
        <Deliveries projectId={project.id} />
      </div>
    </section>
  );
}

/** A guess at the forge, from the repository’s web address. */
const forgeOf = (host: string): ForgeKind =>
  (["gitlab", "bitbucket", "gitea"] as const).find((forge) => host.includes(forge)) ??
  (/codeberg|forgejo/.test(host) ? "gitea" : "github");

interface ConnectFormProps {
  path: string;
  /** The repository’s web address. */
  repository: string;
  isConnected: boolean;
  onSaved: () => Promise<void>;
}

function ConnectForm({ path, repository, isConnected, onSaved }: ConnectFormProps) {
  const [, root = "", name = ""] = /^(https?:\/\/[^/]+)\/(.+)$/.exec(repository) ?? [];
  const [form, setForm] = useState({ forge: forgeOf(root), url: root, repository: name, token: "" });
  const action = useAction({ inPlace: true });
  const input = (key: "url" | "repository" | "token") => ({
    value: form[key],
    spellcheck: false,
    onInput: ({ currentTarget: { value } }: { currentTarget: HTMLInputElement }) =>
      setForm({ ...form, [key]: value }),
  });
  const save = (event: Event) => {
    event.preventDefault();
    void action.run(async () => {
      await send("PUT", path, form);
      setForm({ ...form, token: "" });
      await onSaved();
      toast("Connected the forge.");
    });
  };
  return (
    <form class="stack" onSubmit={save}>
      <Field label="Forge">
        {(field) => (
          <select
            {...field}
            value={form.forge}
            onChange={({ currentTarget }) => setForm({ ...form, forge: currentTarget.value as ForgeKind })}
          >
            {Object.entries(FORGES).map(([id, { label }]) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="Web address of the forge" hint="Leave empty for the public one.">
        {(field) => (
          <input {...field} {...input("url")} type="url" placeholder="https://gitlab.example.com" />
        )}
      </Field>
      <Field label="Repository">
        {(field) => <input {...field} {...input("repository")} required placeholder="acme/shop" />}
      </Field>
      <Field label="Token" hint={FORGES[form.forge].permission} error={action.problem}>
        {(field) => (
          <input {...field} {...input("token")} type="password" required autocomplete="new-password" />
        )}
      </Field>
      <p>
        <Button type="submit" kind="primary" busy={action.busy}>
          {isConnected ? "Replace connection" : "Connect"}
        </Button>
      </p>
    </form>
  );
}

/** What the service could not deliver to the forge yet. */
function Deliveries({ projectId }: { projectId: string }) {
  const { data } = useLive<Outbox>(`/projects/${projectId}/outbox`);
  if (!data || data.failing.length + data.waiting === 0) return null;
  const statuses = data.failing.filter(({ kind }) => kind === "status").length;
  return (
    <div>
      <h3 class="row-title">Waiting to be sent: {data.waiting}</h3>
      {statuses > 0 && (
        <p class="field-error">prshots can’t send the statuses of {formatCount(statuses, "pull request")}.</p>
      )}
      <ul class="rows">
        {data.failing.map(({ pr_number, kind, error, attempts, first_due_at, next_at }) => (
          <li key={`${pr_number} ${kind}`} class="row">
            <p>
              <Link href={`/projects/${projectId}/prs/${pr_number}`}>#{pr_number}</Link>: {kind}
            </p>
            <p class="row-about">
              <span class="problem">{error}</span>
              <span>
                {formatCount(attempts, "attempt")}, first due <Time at={first_due_at} />.{" "}
                {describeRetry(next_at)}
              </span>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
