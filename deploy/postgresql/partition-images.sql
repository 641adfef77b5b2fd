-- Splits the table `images` into partitions by project. prshots needs no setting for it: the SQL stays the same.
-- docs/scale.md says when it pays and what it costs. PostgreSQL 15 to 18. Run it as the owner of the database:
--
--   psql "$PRSHOTS_DATABASE_URL" -v ON_ERROR_STOP=1 -f partition-images.sql
--   PGOPTIONS='-c prshots.partitions=32' psql …             -- the default is 16
--
-- It copies all rows in one transaction. Until it ends, uploads, comments and lists get a 503; images are still
-- delivered. If it fails, nothing has changed. In an empty database it takes no time.

BEGIN;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL maintenance_work_mem = '1GB';
LOCK TABLE images IN ACCESS EXCLUSIVE MODE;

DO $$
DECLARE
    partitions integer := coalesce(nullif(current_setting('prshots.partitions', true), ''), '16');
    indexes text[];
    definition text;
BEGIN
    IF (SELECT relkind FROM pg_class WHERE oid = 'images'::regclass) = 'p' THEN
        RAISE EXCEPTION 'images is partitioned already';
    END IF;
    IF partitions NOT BETWEEN 2 AND 256 THEN
        RAISE EXCEPTION 'prshots.partitions is %: choose 2 to 256', partitions;
    END IF;
    SELECT array_agg(indexdef ORDER BY indexname) INTO indexes FROM pg_indexes
    WHERE schemaname = current_schema() AND tablename = 'images' AND indexname <> 'images_pkey';

    ALTER TABLE images RENAME TO images_before;
    CREATE TABLE images (LIKE images_before INCLUDING DEFAULTS INCLUDING STORAGE) PARTITION BY HASH (project_id);
    ALTER SEQUENCE images_seq_seq OWNED BY images.seq;
    FOR number IN 0 .. partitions - 1 LOOP
        EXECUTE format('CREATE TABLE images_%s PARTITION OF images FOR VALUES WITH (MODULUS %s, REMAINDER %s) '
                       'WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)',
                       number, partitions, number);
    END LOOP;
    INSERT INTO images SELECT * FROM images_before;
    DROP TABLE images_before;  -- with its indexes, whose names are free then

    -- Only a key with the project in it can be unique across partitions. `seq` alone still is: a sequence makes it.
    ALTER TABLE images ADD CONSTRAINT images_pkey PRIMARY KEY (seq, project_id);
    ALTER TABLE images ADD CONSTRAINT images_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects (id);
    FOREACH definition IN ARRAY indexes LOOP
        EXECUTE definition;
    END LOOP;
END $$;

COMMIT;
ANALYZE images;
