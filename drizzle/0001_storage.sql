-- Rows that are updated with each report get room beside them, so that their new versions need no new index entries.
ALTER TABLE "rollouts" SET (fillfactor = 70);--> statement-breakpoint
ALTER TABLE "targets" SET (fillfactor = 70);--> statement-breakpoint
ALTER TABLE "deployments" SET (fillfactor = 80);--> statement-breakpoint
ALTER TABLE "log_head" SET (fillfactor = 10);--> statement-breakpoint
ALTER TABLE "batches" SET (fillfactor = 10);--> statement-breakpoint
-- The log and the reports only grow until retention takes their oldest rows: keep the statistics of their ends fresh.
ALTER TABLE "change_log" SET (autovacuum_analyze_scale_factor = 0.02);
