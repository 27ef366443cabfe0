ALTER TYPE "public"."sink_kind" ADD VALUE 'ALERTMANAGER';--> statement-breakpoint
CREATE INDEX "alerts_resolved_at" ON "alerts" USING btree ("resolved_at") WHERE resolved_at is not null;