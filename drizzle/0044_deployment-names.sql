CREATE TABLE "deployment_names" (
	"deployment_key" bigint PRIMARY KEY NOT NULL,
	"rollout_key" bigint NOT NULL,
	"deployment_id" text NOT NULL
);
--> statement-breakpoint
CREATE INDEX "deployment_names_order" ON "deployment_names" USING btree ("rollout_key","deployment_id","deployment_key");