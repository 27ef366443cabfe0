CREATE TABLE "rollout_labels" (
	"rollout_key" bigint NOT NULL,
	"since" bigint NOT NULL,
	"until" bigint,
	"labels" jsonb NOT NULL,
	CONSTRAINT "rollout_labels_rollout_key_since_pk" PRIMARY KEY("rollout_key","since")
);
--> statement-breakpoint
CREATE INDEX "rollout_labels_labels" ON "rollout_labels" USING gin (labels jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "rollout_labels_until" ON "rollout_labels" USING btree ("until") WHERE until is not null;