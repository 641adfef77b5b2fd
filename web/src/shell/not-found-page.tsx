import { Link } from "../lib/router";
import { PageHead } from "../ui";

export function NotFoundPage() {
  return (
    <>
      <PageHead title="Page not found">Check the address. The page may have been deleted.</PageHead>
      <p>
        <Link href="/">Go to your projects</Link>
      </p>
    </>
  );
}
