import { dateTime } from "../lib/format";
import { usePages } from "../lib/live";
import { useMe } from "../lib/me";
import { navigate, useLocation } from "../lib/router";
import type { Actor, AuditEntry, Organization } from "../lib/types";
import { useUrlText } from "../lib/use-url-text";
import { NotFoundPage } from "../shell/not-found-page";
import { Empty, Failed, Field, InstallationHead, Loading, MoreButton, OrganizationHead } from "../ui";
import { type AuditFilter, auditFilterFrom, auditQuery, describeAct, SUBJECTS } from "./acts";

export function AuditPage({ organization }: { organization: Organization }) {
  return (
    <>
      <OrganizationHead organization={organization} current="audit" />
      <AuditLog page={`/organizations/${organization.id}/audit`} />
    </>
  );
}

/** Only for the operator: what was done to the installation as a whole. */
export function InstallationAuditPage() {
  if (!useMe().operator) return <NotFoundPage />;
  return (
    <>
      <InstallationHead current="audit" />
      <AuditLog page="/installation/audit" />
    </>
  );
}

/** The entries under this path, with filters. `page` is the path of both the page and the API's route. */
function AuditLog({ page }: { page: string }) {
  const filter = auditFilterFrom(useLocation().query);
  const query = auditQuery(filter);
  const list = usePages(`${page}${query}`, "entries", (entry) => entry.seq);
  return (
    <section>
      <Filters page={page} filter={filter} />
      {list.items.length > 0 && (
        <p class="audit-export">
          <a href={`/v1/dashboard${page}/export${query}`} download="audit.jsonl">
            Export {query ? "these entries " : ""}as JSON lines
          </a>
        </p>
      )}
      {list.loading && <Loading rows={6} />}
      {list.error && !list.loaded && <Failed error={list.error} retry={list.refresh} />}
      {list.loaded && list.items.length === 0 && (
        <Empty title="No entries">
          <p>{query ? "No entries match these filters." : "Actions appear here as they happen."}</p>
        </Empty>
      )}
      <ol class="audit" aria-busy={list.loading}>
        {list.items.map((entry) => (
          <Entry key={entry.seq} entry={entry} />
        ))}
      </ol>
      <MoreButton more={list.more} noun="entries" />
    </section>
  );
}

function Filters({ page, filter }: { page: string; filter: AuditFilter }) {
  const address = (change: Partial<AuditFilter>) => page + auditQuery({ ...filter, ...change });
  const texts = [
    {
      label: "Who",
      placeholder: "Login or token",
      text: useUrlText(filter.actor, (actor) => address({ actor })),
    },
    {
      label: "Target",
      placeholder: "Name",
      text: useUrlText(filter.target, (target) => address({ target })),
    },
    {
      label: "Pull request",
      placeholder: "Number",
      text: useUrlText(filter.pr_number, (number) => address({ pr_number: number.replace(/^#/, "") })),
    },
  ];
  const choose = (change: Partial<AuditFilter>) => navigate(address(change), { replace: true });
  return (
    <div class="audit-filters">
      {texts.map(({ label, placeholder, text: [text, setText] }) => (
        <Field key={label} label={label}>
          {(field) => (
            <input
              {...field}
              value={text}
              maxLength={200}
              placeholder={placeholder}
              autocomplete="off"
              spellcheck={false}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          )}
        </Field>
      ))}
      <Field label="What">
        {(field) => (
          <select
            {...field}
            value={filter.action}
            onChange={(event) => choose({ action: event.currentTarget.value })}
          >
            <option value="">Everything</option>
            {SUBJECTS.map(([subject, label]) => (
              <option key={subject} value={subject}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {(["since", "until"] as const).map((name) => (
        <Field key={name} label={name === "since" ? "From (UTC)" : "To (UTC)"}>
          {(field) => (
            <input
              {...field}
              type="date"
              value={filter[name]}
              onChange={(event) => choose({ [name]: event.currentTarget.value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}

function Entry({ entry }: { entry: AuditEntry }) {
  const details = Object.entries(entry.details)
    .filter(([, text]) => text)
    .map(([name, text]) => `${name.replace("pr_number", "pull request").replaceAll("_", " ")}: ${text}`);
  return (
    <li>
      <time dateTime={new Date(entry.at * 1000).toISOString()}>{dateTime(entry.at, "UTC")} UTC</time>
      <div class="audit-act">
        <p>
          <strong>{describeActor(entry.actor)}</strong> {describeAct(entry)}{" "}
          {entry.target !== entry.actor.name && <strong>{entry.target}</strong>}
          {entry.project && entry.project !== entry.target && <span class="quiet"> in {entry.project}</span>}
        </p>
        {details.length > 0 && <p class="quiet small">{details.join(" · ")}</p>}
      </div>
      <span class="quiet small">{entry.actor.address}</span>
    </li>
  );
}

function describeActor({ kind, name }: Actor): string {
  if (kind === "service") return "The service";
  if (kind === "operator") return name ? `The operator (${name})` : "The operator";
  return kind === "token" ? `The token ${name}` : name;
}
