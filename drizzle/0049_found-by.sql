ALTER TABLE "duties" ADD COLUMN "log_cursor" bigint;--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "from_revision" bigint;--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "found_by_changed" boolean;