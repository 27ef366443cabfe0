CREATE TABLE "duties" (
	"name" text PRIMARY KEY NOT NULL,
	"cursor" bigint,
	"attempted_at" timestamp(3) with time zone,
	"succeeded_at" timestamp(3) with time zone,
	"failures" integer DEFAULT 0 NOT NULL,
	"seconds" double precision DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "step_durations" (
	"rollout_key" bigint NOT NULL,
	"component" text NOT NULL,
	"state" "deployment_state" NOT NULL,
	"bucket" integer NOT NULL,
	"count" bigint NOT NULL,
	"total" double precision NOT NULL,
	CONSTRAINT "step_durations_rollout_key_component_state_bucket_pk" PRIMARY KEY("rollout_key","component","state","bucket")
);
--> statement-breakpoint
CREATE TABLE "steps_in_progress" (
	"deployment_key" bigint NOT NULL,
	"component" text NOT NULL,
	"rollout_key" bigint NOT NULL,
	"state" "deployment_state" NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	"has_peers" boolean NOT NULL,
	CONSTRAINT "steps_in_progress_deployment_key_component_pk" PRIMARY KEY("deployment_key","component")
);
--> statement-breakpoint
CREATE TABLE "usual_durations" (
	"rollout_key" bigint NOT NULL,
	"component" text NOT NULL,
	"state" "deployment_state" NOT NULL,
	"count" bigint NOT NULL,
	"p95" double precision NOT NULL,
	CONSTRAINT "usual_durations_rollout_key_component_state_pk" PRIMARY KEY("rollout_key","component","state")
);
--> statement-breakpoint
CREATE INDEX "steps_in_progress_step" ON "steps_in_progress" USING btree ("rollout_key","component","state","since");--> statement-breakpoint
CREATE INDEX "steps_in_progress_since" ON "steps_in_progress" USING btree ("has_peers","since");