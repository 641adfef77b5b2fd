-- Fill an empty, migrated PostgreSQL database with growth.images images in growth.projects projects, as years of use
-- would. A fifth of the images are in the first project. No image has expired. The first fifty projects are in the
-- organization `local`, and every other organization has two. The benchmark `growth` and the test of the query plans
-- use this script. It reports progress as notices. Run VACUUM ANALYZE afterwards.

SET LOCAL session_replication_role = replica;  -- skips the foreign key checks
TRUNCATE images;  -- with wal_level = minimal, PostgreSQL then fills it without a write-ahead log

CREATE TEMPORARY TABLE filling ON COMMIT DROP AS
SELECT k, 'growth-' || p AS project_id, p % 3 = 0 AS pr_close,
       row_number() OVER (PARTITION BY p ORDER BY k) AS n,
       extract(epoch FROM now())::bigint - (pulls - k) * 86400 * CASE p % 3 WHEN 1 THEN 29 ELSE 300 END / pulls AS at
FROM (
    SELECT k, current_setting('growth.images')::bigint / 50 AS pulls,
           CASE WHEN k % 5 = 0 THEN 1
                ELSE 2 + (k - k / 5) % (current_setting('growth.projects')::bigint - 1) END AS p
    FROM generate_series(0, current_setting('growth.images')::bigint / 50 - 1) AS k
) AS pull;

INSERT INTO users (id, provider, subject, login, name, avatar_url, created_at)
SELECT 'growth-' || n, 'github', 'growth-' || n, 'growth-' || n, 'Somebody', '', 0
FROM generate_series(1, 1000) AS n;

INSERT INTO members (organization_id, user_id, role)
SELECT 'local', 'growth-' || n, 'owner' FROM generate_series(1, 1000) AS n;

INSERT INTO sessions (sha256, user_id, created_at, last_seen_at)
SELECT md5('session ' || n) || md5('of ' || n), 'growth-' || n % 1000 + 1, at, at
FROM generate_series(1, 20000) AS n, (SELECT extract(epoch FROM now())::bigint AS at) AS just_now;

INSERT INTO organizations (id, name)
SELECT 'growth-' || o, 'growth-' || o
FROM generate_series(1, (current_setting('growth.projects')::bigint - 49) / 2) AS o;

INSERT INTO projects (id, organization_id, name, policy, retain_days, created_at)
SELECT 'growth-' || p,
       CASE WHEN p <= 50 THEN 'local' ELSE 'growth-' || (p - 49) / 2 END,
       'growth-' || lpad(p::text, 6, '0'),
       CASE p % 3 WHEN 0 THEN 'pr_close' WHEN 1 THEN 'retain_days' ELSE 'manual' END,
       CASE p % 3 WHEN 1 THEN 30 END, 0
FROM generate_series(1, current_setting('growth.projects')::bigint) AS p;

INSERT INTO tokens (id, project_id, label, hint, sha256, created_at)
SELECT md5(id || ' ' || n), id, 'ci', 'msr_…0000', md5('token ' || id || ' ' || n) || md5('of ' || id || ' ' || n), n
FROM projects, generate_series(1, 20) AS n WHERE id LIKE 'growth-%';

INSERT INTO trusts (id, project_id, issuer, claims, anchor, created_at, created_by)
SELECT md5('trust ' || id || ' ' || n), id, 'https://token.actions.githubusercontent.com',
       '{"repository": "growth/' || id || '-' || n || '"}', 'repository=growth/' || id || '-' || n, n, ''
FROM projects, generate_series(1, 20) AS n WHERE id LIKE 'growth-%';

-- The short-lived tokens of an hour without a sweep.
INSERT INTO tokens (id, project_id, label, hint, sha256, created_at, expires_at, trust_id)
SELECT md5('short ' || n), 'growth-1', 'ci', 'msr_…0000', md5('short ' || n) || md5('lived ' || n), at, at + 86400,
       md5('trust growth-1 ' || n % 20 + 1)
FROM generate_series(1, 20000) AS n, (SELECT extract(epoch FROM now())::bigint AS at) AS just_now;

-- Building the indexes afterwards is faster than updating them.
CREATE TEMPORARY TABLE indexes ON COMMIT DROP AS
SELECT indexname, indexdef FROM pg_indexes
WHERE schemaname = 'public' AND tablename = 'images' AND indexname <> 'images_pkey';

DO $$
DECLARE
    index record;
    slice bigint := 0;
BEGIN
    FOR index IN SELECT * FROM indexes LOOP
        EXECUTE format('DROP INDEX %I', index.indexname);
    END LOOP;
    -- Under pr_close, even-numbered pull requests have images; odd-numbered ones are closed and have none left.
    -- Under the other policies, all but the first forty pull requests are closed and keep their images.
    LOOP
        INSERT INTO images (id, project_id, pr_number, name, commit_sha, viewport, ext, size, uploaded_at, kid,
                            closed_at, thumbnail)
        SELECT md5(k || ' ' || j), project_id, CASE WHEN pr_close THEN 2 * n ELSE n END,
               'area-' || j % 5 || '/screen-' || j % 24, md5(k::text) || '01234567',
               CASE j % 2 WHEN 0 THEN '1280x800' ELSE '390x844' END, 'png',
               20000 + (k * 7919 + j * 104729) % 300000, at + j, 'k1',
               CASE WHEN NOT pr_close AND n > 40 THEN at + 3600 END, 'made'
        FROM filling, generate_series(0, 49) AS j
        WHERE k >= slice AND k < slice + 20000;
        EXIT WHEN NOT FOUND;
        slice := slice + 20000;
        RAISE NOTICE '% images', least(slice * 50, current_setting('growth.images')::bigint);
    END LOOP;
    FOR index IN SELECT * FROM indexes LOOP
        RAISE NOTICE 'index %', index.indexname;
        EXECUTE index.indexdef;
    END LOOP;
END $$;

INSERT INTO pulls (project_id, pr_number, images, bytes, last_upload_at, last_commit, closed_at)
SELECT project_id, pr_number, count(*), sum(size), max(uploaded_at), max(commit_sha), max(closed_at)
FROM images WHERE project_id LIKE 'growth-%' GROUP BY project_id, pr_number
UNION ALL
SELECT project_id, 2 * n - 1, 0, 0, at, md5(k::text) || '01234567', at + 3600 FROM filling WHERE pr_close;

INSERT INTO project_totals (project_id, images, bytes, open_pulls, last_upload_at)
SELECT project_id, sum(images), sum(bytes), count(*) FILTER (WHERE closed_at IS NULL), max(last_upload_at)
FROM pulls WHERE project_id LIKE 'growth-%' GROUP BY project_id;

INSERT INTO uploads_by_day (project_id, day, uploads, bytes)
SELECT project_id, uploaded_at / 86400, count(*), sum(size)
FROM images WHERE project_id LIKE 'growth-%' GROUP BY project_id, uploaded_at / 86400;

-- A day's counts stay after its images are deleted.
INSERT INTO uploads_by_day (project_id, day, uploads, bytes)
SELECT id, extract(epoch FROM now())::bigint / 86400 - ago, 100, 10000000
FROM projects, generate_series(302, 1500) AS ago WHERE id LIKE 'growth-%' AND organization_id = 'local';
