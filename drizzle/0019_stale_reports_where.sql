ALTER TABLE "reports" ADD COLUMN "target_key" bigint;--> statement-breakpoint
ALTER TABLE "reports" ADD COLUMN "rollout_key" bigint;--> statement-breakpoint
UPDATE "reports" SET "target_key" = d."target_key", "rollout_key" = d."rollout_key" FROM "deployments" d
WHERE d."key" = "reports"."deployment_key" AND "reports"."verdict" = 'STALE' AND NOT EXISTS (
  SELECT 1 FROM "change_log" l WHERE l."deployment_key" = d."key" AND l."resource_key" IS NULL
    AND (l."from_target_key" IS NOT NULL OR l."from_rollout_key" IS NOT NULL));
