CREATE TYPE "public"."instance_goal" AS ENUM('NOTHING', 'INSTANTIATE', 'TERMINATE', 'GIVE_WAY');--> statement-breakpoint
CREATE TYPE "public"."instance_status" AS ENUM('CREATED', 'INSTANTIATING', 'INSTANTIATED', 'INSTANTIATE_FAILED', 'TERMINATING', 'TERMINATED', 'TERMINATE_FAILED', 'UPDATING', 'UPDATED', 'UPDATE_FAILED');--> statement-breakpoint
CREATE TYPE "public"."lifecycle_state" AS ENUM('CREATED', 'APPROVED', 'APPLIED', 'INSTANTIATED', 'TERMINATED', 'INSTANTIATE_STOPPED', 'TERMINATE_STOPPED', 'UPDATED');--> statement-breakpoint
CREATE TYPE "public"."presence" AS ENUM('UNKNOWN', 'NOT_PRESENT', 'PRESENT');--> statement-breakpoint
CREATE TYPE "public"."sync_status" AS ENUM('PENDING', 'APPLIED', 'FAILED', 'RETRYING', 'DELETED');--> statement-breakpoint
CREATE TABLE "bundles" (
	"instance_key" bigint NOT NULL,
	"target_key" bigint NOT NULL,
	"component" text NOT NULL,
	"uid" text,
	"resource_version" text,
	"received_at" timestamp(3) with time zone NOT NULL,
	CONSTRAINT "bundles_instance_key_target_key_component_pk" PRIMARY KEY("instance_key","target_key","component")
);
--> statement-breakpoint
CREATE TABLE "instances" (
	"key" bigint PRIMARY KEY NOT NULL,
	"rollout_key" bigint NOT NULL,
	"instance_id" text NOT NULL,
	"revision_number" integer NOT NULL,
	"status" "instance_status" NOT NULL,
	"goal" "instance_goal" NOT NULL,
	"successor_key" bigint,
	"status_context" text NOT NULL,
	"created_revision" bigint NOT NULL,
	"revision" bigint NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lifecycle_actions" (
	"rollout_key" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"state" "lifecycle_state" NOT NULL,
	"instance_id" text,
	"instance_revision" integer NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"given_time" text,
	CONSTRAINT "lifecycle_actions_rollout_key_revision_pk" PRIMARY KEY("rollout_key","revision")
);
--> statement-breakpoint
CREATE TABLE "resource_details" (
	"key" bigint PRIMARY KEY NOT NULL,
	"detail" json,
	"detail_cut" boolean DEFAULT false NOT NULL,
	"applied_detail" json,
	"applied_detail_cut" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "resource_tallies" (
	"owner_key" bigint NOT NULL,
	"component" text NOT NULL,
	"sync" text NOT NULL,
	"presence" "presence" NOT NULL,
	"readiness" "readiness" NOT NULL,
	"showable" boolean NOT NULL,
	"n" integer NOT NULL,
	CONSTRAINT "resource_tallies_owner_key_component_sync_presence_readiness_showable_pk" PRIMARY KEY("owner_key","component","sync","presence","readiness","showable")
);
--> statement-breakpoint
CREATE TABLE "resources" (
	"key" bigint PRIMARY KEY NOT NULL,
	"rollout_key" bigint NOT NULL,
	"instance_key" bigint NOT NULL,
	"deployment_key" bigint NOT NULL,
	"target_key" bigint NOT NULL,
	"component" text NOT NULL,
	"api_group" text NOT NULL,
	"version" text NOT NULL,
	"kind" text NOT NULL,
	"namespace" text,
	"name" text NOT NULL,
	"sync" "sync_status",
	"presence" "presence" NOT NULL,
	"readiness" "readiness" NOT NULL,
	"reason" text,
	"message" text,
	"showable" boolean NOT NULL,
	"changed_at" timestamp(3) with time zone NOT NULL,
	"revision" bigint NOT NULL,
	"gone_at" timestamp(3) with time zone,
	"detail_hash" text,
	"applied_detail_hash" text
);
--> statement-breakpoint
DROP INDEX "change_log_deployment";--> statement-breakpoint
DROP INDEX "change_log_target";--> statement-breakpoint
DROP INDEX "deployments_reporter";--> statement-breakpoint
ALTER TABLE "change_log" ADD COLUMN "resource_key" bigint;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "is_current" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "composite_profile" text;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "state" "lifecycle_state";--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "status" "instance_status";--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "current_instance_key" bigint;--> statement-breakpoint
CREATE UNIQUE INDEX "instances_id" ON "instances" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "instances_rollout" ON "instances" USING btree ("rollout_key","created_revision");--> statement-breakpoint
CREATE INDEX "instances_status_context" ON "instances" USING btree ("status_context");--> statement-breakpoint
CREATE INDEX "resources_name" ON "resources" USING btree ("deployment_key","component","name");--> statement-breakpoint
CREATE INDEX "resources_instance" ON "resources" USING btree ("instance_key","key") WHERE gone_at is null;--> statement-breakpoint
CREATE INDEX "resources_deployment" ON "resources" USING btree ("deployment_key","key") WHERE gone_at is null;--> statement-breakpoint
CREATE INDEX "resources_revision" ON "resources" USING btree ("instance_key","revision");--> statement-breakpoint
CREATE INDEX "resources_gone" ON "resources" USING btree ("revision") WHERE gone_at is not null;--> statement-breakpoint
CREATE INDEX "change_log_deployment_resource" ON "change_log" USING btree ("deployment_key","first_revision") WHERE resource_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_resource" ON "change_log" USING btree ("resource_key","first_revision") WHERE resource_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_instance" ON "change_log" USING btree ("instance_key","first_revision") WHERE instance_key is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_place" ON "deployments" USING btree ("instance_key","target_key") WHERE instance_key is not null;--> statement-breakpoint
CREATE INDEX "deployments_instance" ON "deployments" USING btree ("instance_key","revision") WHERE instance_key is not null;--> statement-breakpoint
CREATE INDEX "rollouts_current" ON "rollouts" USING btree ("current_instance_key") WHERE current_instance_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_deployment" ON "change_log" USING btree ("deployment_key","first_revision") WHERE deployment_key is not null and resource_key is null;--> statement-breakpoint
CREATE INDEX "change_log_target" ON "change_log" USING btree ("target_key","first_revision") WHERE deployment_key is null and target_key is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_reporter" ON "deployments" USING btree ("reporter","deployment_id") WHERE instance_key is null;