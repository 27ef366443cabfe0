DROP INDEX "rollouts_current";--> statement-breakpoint
ALTER TABLE "instances" ADD COLUMN "told" "deployment_state";--> statement-breakpoint
ALTER TABLE "instances" ADD COLUMN "is_current" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "instances" ADD COLUMN "document" json;--> statement-breakpoint
CREATE INDEX "instances_current" ON "instances" USING btree ("rollout_key") WHERE is_current;--> statement-breakpoint
UPDATE "instances" SET "is_current" = true FROM "rollouts" WHERE "rollouts"."current_instance_key" = "instances"."key";
