import { useEffect, useState } from "preact/hooks";
import { Button, Loading, PageHead } from "../ui";

type Pages = typeof import("./pages");

let loaded: Pages | undefined;

/** Loads the script with the management pages when the first of them is shown. Reviewers never load it. */
export function Management({ path }: { path: string }) {
  const [pages, setPages] = useState(loaded);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (pages) return;
    import("./pages").then(
      (found) => {
        loaded = found;
        setPages(found);
      },
      () => setFailed(true),
    );
  }, [pages]);
  if (pages) return pages.managementPage(path);
  if (failed) return <OutdatedPage />;
  return <Loading rows={6} />;
}

/** After an upgrade, the service no longer has the scripts that this page refers to. */
function OutdatedPage() {
  return (
    <>
      <PageHead title="Could not load this page">
        The service may have been upgraded. Reload to get the new version.
      </PageHead>
      <Button onClick={() => window.location.reload()}>Reload</Button>
    </>
  );
}
