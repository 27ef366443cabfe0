CREATE TYPE "public"."convergence" AS ENUM('CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN');--> statement-breakpoint
CREATE TABLE "desired_documents" (
	"digest" text PRIMARY KEY NOT NULL,
	"content" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "manifest_entries" (
	"target_key" bigint NOT NULL,
	"deployment_id" text NOT NULL,
	"since" bigint NOT NULL,
	"until" bigint,
	"deployment_key" bigint NOT NULL,
	"device_id" text NOT NULL,
	"digest" text NOT NULL,
	"size" integer NOT NULL,
	CONSTRAINT "manifest_entries_target_key_deployment_id_since_pk" PRIMARY KEY("target_key","deployment_id","since")
);
--> statement-breakpoint
CREATE TABLE "manifests" (
	"target_key" bigint NOT NULL,
	"version" bigint NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"who" text NOT NULL,
	"why" text NOT NULL,
	"bundle_digest" text,
	"bundle_size" integer,
	CONSTRAINT "manifests_target_key_version_pk" PRIMARY KEY("target_key","version")
);
--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "target_manifest_version" numeric(20, 0);--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "document_digest" text;--> statement-breakpoint
ALTER TABLE "deployments" ADD COLUMN "convergence" "convergence" DEFAULT 'UNKNOWN' NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "convergence_converged" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "convergence_applying" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "convergence_failed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "convergence_stale" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "log_head" ADD COLUMN "convergence_unknown" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "convergence_converged" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "convergence_applying" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "convergence_failed" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "convergence_stale" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "convergence_unknown" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "manifest_entries_deployment" ON "manifest_entries" USING btree ("deployment_key","since");--> statement-breakpoint
UPDATE "rollouts" SET "convergence_unknown" = "pending" + "installing" + "installed" + "failed" + "removing" + "removed";--> statement-breakpoint
UPDATE "log_head" SET "convergence_unknown" = "pending" + "installing" + "installed" + "failed" + "removing" + "removed";
