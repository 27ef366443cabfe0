CREATE TYPE "public"."alert_metric" AS ENUM('FAILED', 'STALLED', 'OFFLINE', 'STALE', 'NOT_CONVERGED', 'NO_PROGRESS', 'SUCCESS_RATE');--> statement-breakpoint
CREATE TYPE "public"."alert_resolution" AS ENUM('RECOVERED', 'RULE_CHANGED', 'RULE_DELETED');--> statement-breakpoint
CREATE TYPE "public"."alert_severity" AS ENUM('CRITICAL', 'WARNING', 'INFO');--> statement-breakpoint
CREATE TYPE "public"."alert_unit" AS ENUM('COUNT', 'PERCENT');--> statement-breakpoint
CREATE TYPE "public"."rule_origin" AS ENUM('API', 'FILE');--> statement-breakpoint
CREATE TABLE "alert_checks" (
	"rollout_key" bigint NOT NULL,
	"rule_key" bigint NOT NULL,
	"due_at" timestamp(3) with time zone NOT NULL,
	"breached_since" timestamp(3) with time zone,
	"swept_to" bigint,
	CONSTRAINT "alert_checks_rollout_key_rule_key_pk" PRIMARY KEY("rollout_key","rule_key")
);
--> statement-breakpoint
CREATE TABLE "alert_rules" (
	"key" bigint PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"version" bigint NOT NULL,
	"origin" "rule_origin" NOT NULL,
	"rule" json NOT NULL,
	"selector" json NOT NULL,
	"enabled" boolean NOT NULL,
	"deleted" boolean DEFAULT false NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "alerts" (
	"key" bigint PRIMARY KEY NOT NULL,
	"rule_key" bigint NOT NULL,
	"rule" text NOT NULL,
	"rollout_key" bigint NOT NULL,
	"severity" "alert_severity" NOT NULL,
	"description" text,
	"labels" json NOT NULL,
	"runbook_url" text,
	"metric" "alert_metric" NOT NULL,
	"unit" "alert_unit" NOT NULL,
	"threshold" double precision NOT NULL,
	"value" double precision NOT NULL,
	"evaluated_revision" bigint NOT NULL,
	"raised_revision" bigint NOT NULL,
	"raised_at" timestamp(3) with time zone NOT NULL,
	"resolved_revision" bigint,
	"resolved_at" timestamp(3) with time zone,
	"resolved_value" double precision,
	"resolution" "alert_resolution",
	"acknowledged_revision" bigint,
	"acknowledged_at" timestamp(3) with time zone,
	"acknowledged_by" text,
	"comment" text
);
--> statement-breakpoint
CREATE INDEX "alert_checks_rule" ON "alert_checks" USING btree ("rule_key");--> statement-breakpoint
CREATE INDEX "alert_checks_due" ON "alert_checks" USING btree ("due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "alert_rules_name" ON "alert_rules" USING btree ("name");--> statement-breakpoint
CREATE INDEX "alert_rules_version" ON "alert_rules" USING btree ("version");--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_firing" ON "alerts" USING btree ("rollout_key","rule_key") WHERE resolved_revision is null;--> statement-breakpoint
CREATE INDEX "alerts_firing_rule" ON "alerts" USING btree ("rule_key") WHERE resolved_revision is null;--> statement-breakpoint
CREATE INDEX "alerts_raised" ON "alerts" USING btree ("raised_revision");--> statement-breakpoint
CREATE INDEX "alerts_resolved" ON "alerts" USING btree ("resolved_revision") WHERE resolved_revision is not null;--> statement-breakpoint
CREATE INDEX "alerts_rollout" ON "alerts" USING btree ("rollout_key","raised_revision");