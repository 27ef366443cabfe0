CREATE TABLE "deployment_checkpoints" (
	"rollout_key" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"counts" json NOT NULL,
	CONSTRAINT "deployment_checkpoints_rollout_key_revision_pk" PRIMARY KEY("rollout_key","revision")
);
--> statement-breakpoint
DROP INDEX "change_log_rollout";--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "from_state" "deployment_state";--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "from_convergence" "convergence";--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "to_state" "deployment_state";--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "to_convergence" "convergence";--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "counted_since" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "counted_writes" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "change_log_counted" ON "change_log" USING btree ("first_revision","from_state","from_convergence","to_state","to_convergence") WHERE from_state is not null or to_state is not null;--> statement-breakpoint
CREATE INDEX "change_log_rollout" ON "change_log" USING btree ("rollout_key","first_revision","from_rollout_key","from_state","from_convergence","to_state","to_convergence") WHERE rollout_key is not null;