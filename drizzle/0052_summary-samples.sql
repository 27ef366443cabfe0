ALTER TABLE "change_summaries" ADD COLUMN "sample_revisions" bigint[];--> statement-breakpoint
ALTER TABLE "change_summaries" ADD COLUMN "sample_times" timestamp(3) with time zone[];