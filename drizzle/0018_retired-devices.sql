ALTER TABLE "targets" ADD COLUMN "retired_at" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "targets" ADD COLUMN "retired_reason" text;--> statement-breakpoint
ALTER TABLE "targets" ADD COLUMN "replaced_by_key" bigint;--> statement-breakpoint
CREATE INDEX "targets_retired" ON "targets" USING btree ("name") WHERE retired_at is not null;