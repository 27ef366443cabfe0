DROP INDEX "deployments_target";--> statement-breakpoint
CREATE INDEX "deployments_target" ON "deployments" USING btree ("target_key","deployment_id");