-- In SQL, the planner and the indexes' predicates inline the function. Each report called it twice in PL/pgSQL.
CREATE OR REPLACE FUNCTION deployment_has_error(error json, components json) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  select coalesce(error::text like '{%', false) or strpos(components::text, '"error":{') > 0 or strpos(components::text, '"error": {') > 0
$$;--> statement-breakpoint
-- Both settings stay as they are. Sessions that have the indexes open read the predicates again, so they match the inlined conditions of queries.
ALTER INDEX "deployments_with_error" SET (deduplicate_items = on);--> statement-breakpoint
ALTER INDEX "deployments_error_codes" SET (fastupdate = off);--> statement-breakpoint
-- One index of the log by revision instead of two. In a large log it is built before this migration, while reports go on.
CREATE UNIQUE INDEX IF NOT EXISTS "change_log_by_revision" ON "change_log" USING btree ("first_revision") INCLUDE ("from_state", "from_convergence", "to_state", "to_convergence");--> statement-breakpoint
DROP INDEX "change_log_counted";--> statement-breakpoint
ALTER TABLE "change_log" DROP CONSTRAINT "change_log_pkey";--> statement-breakpoint
ALTER TABLE "change_log" ADD CONSTRAINT "change_log_pkey" PRIMARY KEY USING INDEX "change_log_by_revision";
