CREATE INDEX "deployments_search" ON "deployments" USING btree (lower(deployment_id) text_pattern_ops) WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "rollouts_search" ON "rollouts" USING btree (lower(name) text_pattern_ops);--> statement-breakpoint
CREATE INDEX "targets_search" ON "targets" USING btree (lower(name) text_pattern_ops);--> statement-breakpoint
CREATE INDEX "resources_search" ON "resources" USING btree (lower(name) text_pattern_ops) WHERE gone_at is null;