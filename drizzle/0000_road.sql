CREATE TYPE "public"."connectivity" AS ENUM('UNKNOWN', 'ONLINE', 'OFFLINE', 'RETRYING');--> statement-breakpoint
CREATE TYPE "public"."deployment_state" AS ENUM('PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED');--> statement-breakpoint
CREATE TYPE "public"."readiness" AS ENUM('READY', 'PENDING', 'FAILED', 'UNKNOWN');--> statement-breakpoint
CREATE TYPE "public"."rollout_kind" AS ENUM('DECLARED', 'MARGO_DEPLOYMENT', 'DEPLOYMENT_INTENT_GROUP', 'CLUSTER_INTENTS', 'RESOURCE_BUNDLE');--> statement-breakpoint
CREATE TYPE "public"."target_kind" AS ENUM('DEVICE', 'CLUSTER', 'CLOUD_REGION');--> statement-breakpoint
CREATE TYPE "public"."verdict" AS ENUM('APPLIED', 'UNCHANGED', 'STALE');--> statement-breakpoint
CREATE TABLE "batches" (
	"id" text PRIMARY KEY NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"outcomes" json NOT NULL
);
--> statement-breakpoint
CREATE TABLE "change_log" (
	"first_revision" bigint PRIMARY KEY NOT NULL,
	"last_revision" bigint NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"observed_at" timestamp(3) with time zone,
	"deployment_key" bigint,
	"target_key" bigint,
	"from_target_key" bigint,
	"rollout_key" bigint,
	"from_rollout_key" bigint,
	"instance_key" bigint,
	"before" json,
	"changes" json NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"key" bigint PRIMARY KEY NOT NULL,
	"deployment_id" text NOT NULL,
	"reporter" text NOT NULL,
	"target_key" bigint NOT NULL,
	"rollout_key" bigint NOT NULL,
	"instance_key" bigint,
	"application" text,
	"application_version" text,
	"state" "deployment_state" NOT NULL,
	"derived_state" "deployment_state",
	"consistent" boolean NOT NULL,
	"error" json,
	"readiness" "readiness" DEFAULT 'UNKNOWN' NOT NULL,
	"components" json NOT NULL,
	"declared_components" json DEFAULT '[]'::json NOT NULL,
	"claimed" boolean NOT NULL,
	"attempt" integer NOT NULL,
	"adopted_manifest_version" numeric(20, 0),
	"stalled" boolean DEFAULT false NOT NULL,
	"reported_at" timestamp(3) with time zone,
	"received_at" timestamp(3) with time zone NOT NULL,
	"changed_at" timestamp(3) with time zone NOT NULL,
	"revision" bigint NOT NULL,
	"forgotten_at" timestamp(3) with time zone,
	"marks" json NOT NULL,
	"repeats" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "device_tokens" (
	"hash" text PRIMARY KEY NOT NULL,
	"target_key" bigint NOT NULL,
	"issued_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "epochs" (
	"base" bigint PRIMARY KEY NOT NULL,
	"ended" bigint,
	"began_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"until" timestamp(3) with time zone NOT NULL,
	"since" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "log_head" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"epoch_base" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"tail" bigint NOT NULL,
	"tail_at" timestamp(3) with time zone NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"next_key" bigint NOT NULL,
	"writes" bigint NOT NULL,
	"identity" text NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"installing" integer DEFAULT 0 NOT NULL,
	"installed" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"removing" integer DEFAULT 0 NOT NULL,
	"removed" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "reports" (
	"deployment_key" bigint NOT NULL,
	"key" bigint NOT NULL,
	"verdict" "verdict" NOT NULL,
	"stale_by" text,
	"reported_at" timestamp(3) with time zone,
	"received_at" timestamp(3) with time zone NOT NULL,
	"seq" numeric(20, 0),
	"boot" text,
	"adopted_manifest_version" numeric(20, 0),
	"state" "deployment_state" NOT NULL,
	"error" json,
	"components" json,
	"revision" bigint,
	"dialect" text NOT NULL,
	CONSTRAINT "reports_deployment_key_key_pk" PRIMARY KEY("deployment_key","key")
);
--> statement-breakpoint
CREATE TABLE "rollouts" (
	"key" bigint PRIMARY KEY NOT NULL,
	"kind" "rollout_kind" NOT NULL,
	"identity" text NOT NULL,
	"name" text NOT NULL,
	"project" text,
	"composite_app" text,
	"composite_app_version" text,
	"provider" text,
	"created_revision" bigint NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"installing" integer DEFAULT 0 NOT NULL,
	"installed" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"removing" integer DEFAULT 0 NOT NULL,
	"removed" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "targets" (
	"key" bigint PRIMARY KEY NOT NULL,
	"kind" "target_kind" NOT NULL,
	"provider" text DEFAULT '' NOT NULL,
	"name" text NOT NULL,
	"display_name" text,
	"labels" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"registered" boolean DEFAULT false NOT NULL,
	"expected_interval" integer,
	"parent_key" bigint,
	"connectivity" "connectivity" DEFAULT 'UNKNOWN' NOT NULL,
	"last_heard_at" timestamp(3) with time zone,
	"revoked_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE INDEX "change_log_deployment" ON "change_log" USING btree ("deployment_key","first_revision") WHERE deployment_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_at" ON "change_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "change_log_rollout" ON "change_log" USING btree ("rollout_key","first_revision") WHERE rollout_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_from_target" ON "change_log" USING btree ("from_target_key","first_revision") WHERE from_target_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_from_rollout" ON "change_log" USING btree ("from_rollout_key","first_revision") WHERE from_rollout_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_target" ON "change_log" USING btree ("target_key","first_revision") WHERE deployment_key is null;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_reporter" ON "deployments" USING btree ("reporter","deployment_id");--> statement-breakpoint
CREATE INDEX "deployments_id" ON "deployments" USING btree ("deployment_id","key");--> statement-breakpoint
CREATE INDEX "deployments_target" ON "deployments" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "deployments_rollout" ON "deployments" USING btree ("rollout_key","revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_revision" ON "deployments" USING btree ("revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_state" ON "deployments" USING btree ("state","revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_forgotten" ON "deployments" USING btree ("revision") WHERE forgotten_at is not null;--> statement-breakpoint
CREATE INDEX "device_tokens_target" ON "device_tokens" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "reports_received" ON "reports" USING brin ("received_at");--> statement-breakpoint
CREATE UNIQUE INDEX "rollouts_identity" ON "rollouts" USING btree ("kind","identity");--> statement-breakpoint
CREATE UNIQUE INDEX "targets_name" ON "targets" USING btree ("kind","provider","name");--> statement-breakpoint
CREATE INDEX "targets_parent" ON "targets" USING btree ("parent_key") WHERE parent_key is not null;--> statement-breakpoint
CREATE INDEX "targets_labels" ON "targets" USING gin (labels jsonb_path_ops);