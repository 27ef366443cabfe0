CREATE TABLE "declarations" (
	"rollout_key" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"project" text,
	"at" timestamp(3) with time zone NOT NULL,
	"who" text NOT NULL,
	"why" text NOT NULL,
	CONSTRAINT "declarations_rollout_key_revision_pk" PRIMARY KEY("rollout_key","revision")
);
--> statement-breakpoint
CREATE INDEX "declarations_newest" ON "declarations" USING btree ("revision");--> statement-breakpoint
CREATE INDEX "declarations_project" ON "declarations" USING btree ("project","revision") WHERE project is not null;--> statement-breakpoint
-- The declarations with documents that are known: each version of a manifest has its author. One deployment of each command says in which revision
-- it was. If the log no longer has that entry, it was at the beginning of the log at the latest, and no earlier state can be asked for.
INSERT INTO declarations (rollout_key, revision, project, at, who, why)
SELECT made.rollout_key, coalesce((SELECT max(c.last_revision) FROM change_log c
    WHERE c.deployment_key = made.deployment_key AND c.resource_key IS NULL AND c.at = made.at), h.tail), r.project, made.at, made.who, made.why
FROM (SELECT DISTINCT ON (d.rollout_key, m.at, m.who, m.why) d.rollout_key, e.deployment_key, m.at, m.who, m.why
  FROM manifest_entries e JOIN manifests m ON m.target_key = e.target_key AND m.version = e.since
  JOIN deployments d ON d.key = e.deployment_key) AS made
JOIN rollouts r ON r.key = made.rollout_key CROSS JOIN log_head h
ORDER BY made.at DESC
ON CONFLICT DO NOTHING;
