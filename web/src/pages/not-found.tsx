import { Link } from "../lib/router";
import { PageHead } from "../ui";

export function NotFoundPage() {
  return (
    <>
      <PageHead title="There is nothing here">
        The address may be mistyped, or what was here has been deleted.
      </PageHead>
      <p>
        <Link href="/">Go to your projects</Link>
      </p>
    </>
  );
}
