-- The whole database. drizzle-kit generated it from src/store/tables, except what it cannot express, which is by hand: the functions, the triggers, the partitions
-- of the three tables of the history, the columns that the log's primary key includes, and the settings of tables at the end.

-- Functions, because an index takes immutable expressions only, and JSON as text is not one. In SQL, the planner and the indexes' predicates inline it. The
-- text of `components` has `"error":{` exactly where a component has an error: within a string, a quotation mark is escaped.
CREATE FUNCTION deployment_has_error(error json, components json) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  select coalesce(error::text like '{%', false) or strpos(components::text, '"error":{') > 0 or strpos(components::text, '"error": {') > 0
$$;--> statement-breakpoint
CREATE FUNCTION deployment_error_codes(error json, components json) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  select coalesce(array_agg(distinct code) filter (where code is not null), '{}') from (
    select error ->> 'code' as code
    union all select component -> 'error' ->> 'code' from json_array_elements(components) as component
  ) as codes
$$;--> statement-breakpoint
-- The parts of three characters. With the extension pg_trgm, some databases would have no index: it needs a package and a right.
CREATE FUNCTION text_trigrams(value text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
declare
  letters text[] := string_to_array(value, null);
  found text[] := '{}';
begin
  for i in 1 .. cardinality(letters) - 2 loop
    found[i] := letters[i] || letters[i + 1] || letters[i + 2];
  end loop;
  return found;
end $$;--> statement-breakpoint
CREATE FUNCTION device_capability(capabilities text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
begin
  return capabilities::json #>> array['properties', name];
end $$;--> statement-breakpoint
CREATE TYPE "public"."alert_metric" AS ENUM('FAILED', 'STALLED', 'OFFLINE', 'STALE', 'NOT_CONVERGED', 'NO_PROGRESS', 'SUCCESS_RATE', 'TIME_LEFT', 'DELAY');--> statement-breakpoint
CREATE TYPE "public"."alert_resolution" AS ENUM('RECOVERED', 'RULE_CHANGED', 'RULE_DELETED');--> statement-breakpoint
CREATE TYPE "public"."alert_severity" AS ENUM('CRITICAL', 'WARNING', 'INFO');--> statement-breakpoint
CREATE TYPE "public"."alert_unit" AS ENUM('COUNT', 'PERCENT');--> statement-breakpoint
CREATE TYPE "public"."connectivity" AS ENUM('UNKNOWN', 'ONLINE', 'OFFLINE', 'RETRYING');--> statement-breakpoint
CREATE TYPE "public"."convergence" AS ENUM('CONVERGED', 'APPLYING', 'FAILED', 'STALE', 'UNKNOWN');--> statement-breakpoint
CREATE TYPE "public"."deployment_state" AS ENUM('PENDING', 'INSTALLING', 'INSTALLED', 'FAILED', 'REMOVING', 'REMOVED');--> statement-breakpoint
CREATE TYPE "public"."failure_stage" AS ENUM('PRE_PROCESSING', 'PROCESSING', 'POST_PROCESSING');--> statement-breakpoint
CREATE TYPE "public"."instance_goal" AS ENUM('NOTHING', 'INSTANTIATE', 'TERMINATE', 'GIVE_WAY');--> statement-breakpoint
CREATE TYPE "public"."instance_status" AS ENUM('CREATED', 'INSTANTIATING', 'INSTANTIATED', 'INSTANTIATE_FAILED', 'TERMINATING', 'TERMINATED', 'TERMINATE_FAILED', 'UPDATING', 'UPDATED', 'UPDATE_FAILED');--> statement-breakpoint
CREATE TYPE "public"."lifecycle_state" AS ENUM('CREATED', 'APPROVED', 'APPLIED', 'INSTANTIATED', 'TERMINATED', 'INSTANTIATE_STOPPED', 'TERMINATE_STOPPED', 'UPDATED');--> statement-breakpoint
CREATE TYPE "public"."presence" AS ENUM('UNKNOWN', 'NOT_PRESENT', 'PRESENT');--> statement-breakpoint
CREATE TYPE "public"."readiness" AS ENUM('READY', 'PENDING', 'FAILED', 'UNKNOWN');--> statement-breakpoint
CREATE TYPE "public"."rollout_kind" AS ENUM('DECLARED', 'MARGO_DEPLOYMENT', 'DEPLOYMENT_INTENT_GROUP', 'CLUSTER_INTENTS', 'RESOURCE_BUNDLE');--> statement-breakpoint
CREATE TYPE "public"."rule_origin" AS ENUM('API', 'FILE');--> statement-breakpoint
CREATE TYPE "public"."sink_kind" AS ENUM('CALLBACK', 'WEBHOOK', 'INVENTORY', 'ALERTMANAGER');--> statement-breakpoint
CREATE TYPE "public"."sync_status" AS ENUM('PENDING', 'APPLIED', 'FAILED', 'RETRYING', 'DELETED');--> statement-breakpoint
CREATE TYPE "public"."target_kind" AS ENUM('DEVICE', 'CLUSTER', 'CLOUD_REGION', 'SITE');--> statement-breakpoint
CREATE TYPE "public"."verdict" AS ENUM('APPLIED', 'UNCHANGED', 'STALE');--> statement-breakpoint
CREATE TABLE "api_keys" (
	"id" text PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"name" text NOT NULL,
	"roles" json NOT NULL,
	"scopes" json NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"created_by" text NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"revoked_at" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "api_sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"credential" text NOT NULL,
	"credential_id" text NOT NULL,
	"name" text NOT NULL,
	"roles" json NOT NULL,
	"scopes" json NOT NULL,
	"expires_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"key" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_key_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp(3) with time zone NOT NULL,
	"kind" text NOT NULL,
	"who" text NOT NULL,
	"credential" text NOT NULL,
	"address" text NOT NULL,
	"action" text NOT NULL,
	"outcome" text NOT NULL,
	"detail" json,
	"times" integer DEFAULT 1 NOT NULL
) PARTITION BY RANGE ("key");
--> statement-breakpoint
CREATE TABLE "device_identities" (
	"id" text PRIMARY KEY NOT NULL,
	"target_key" bigint NOT NULL,
	"public_key" text,
	"added_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "device_tokens" (
	"hash" text PRIMARY KEY NOT NULL,
	"target_key" bigint NOT NULL,
	"issued_at" timestamp(3) with time zone NOT NULL,
	"expires_at" timestamp(3) with time zone,
	"repository_only" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "used_signatures" (
	"id" text PRIMARY KEY NOT NULL,
	"until" timestamp(3) with time zone NOT NULL,
	"held_until" timestamp(3) with time zone
);
--> statement-breakpoint
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
CREATE TABLE "batches" (
	"id" text PRIMARY KEY NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"outcomes" json NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployments" (
	"key" bigint PRIMARY KEY NOT NULL,
	"deployment_id" text NOT NULL,
	"reporter" text NOT NULL,
	"site_key" bigint DEFAULT 0 NOT NULL,
	"target_key" bigint NOT NULL,
	"rollout_key" bigint NOT NULL,
	"instance_key" bigint,
	"is_current" boolean DEFAULT true NOT NULL,
	"application" text,
	"application_version" text,
	"state" "deployment_state" NOT NULL,
	"derived_state" "deployment_state",
	"consistent" boolean NOT NULL,
	"error" json,
	"failure_stage" "failure_stage",
	"readiness" "readiness" DEFAULT 'UNKNOWN' NOT NULL,
	"components" json NOT NULL,
	"attempt" integer NOT NULL,
	"adopted_manifest_version" numeric(20, 0),
	"target_manifest_version" numeric(20, 0),
	"document_digest" text,
	"convergence" "convergence" DEFAULT 'UNKNOWN' NOT NULL,
	"stalled" boolean DEFAULT false NOT NULL,
	"reported_at" timestamp(3) with time zone,
	"changed_at" timestamp(3) with time zone NOT NULL,
	"revision" bigint NOT NULL,
	"forgotten_at" timestamp(3) with time zone,
	"declared_components" json DEFAULT '[]'::json NOT NULL,
	"claimed" boolean NOT NULL,
	"received_at" timestamp(3) with time zone NOT NULL,
	"marks" json NOT NULL,
	"repeats" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment_names" (
	"deployment_key" bigint PRIMARY KEY NOT NULL,
	"deployment_id" text NOT NULL,
	"reporter" text NOT NULL,
	"target_key" bigint NOT NULL,
	"rollout_key" bigint NOT NULL,
	"is_remote" boolean NOT NULL,
	"is_forgotten" boolean NOT NULL
);
--> statement-breakpoint
CREATE TABLE "device_deviations" (
	"target_key" bigint NOT NULL,
	"kind" text NOT NULL,
	"count" bigint NOT NULL,
	"last_at" timestamp(3) with time zone NOT NULL,
	"example" text NOT NULL,
	CONSTRAINT "device_deviations_target_key_kind_pk" PRIMARY KEY("target_key","kind")
);
--> statement-breakpoint
CREATE TABLE "last_backup" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"revision" bigint NOT NULL
);--> statement-breakpoint
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"until" timestamp(3) with time zone NOT NULL,
	"since" timestamp(3) with time zone NOT NULL
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
	"target_key" bigint,
	"rollout_key" bigint,
	"revision" bigint,
	"dialect" text NOT NULL,
	CONSTRAINT "reports_deployment_key_key_pk" PRIMARY KEY("deployment_key","key")
) PARTITION BY RANGE ("key");
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
	"composite_profile" text,
	"state" "lifecycle_state",
	"status" "instance_status",
	"current_instance_key" bigint,
	"created_at" timestamp(3) with time zone NOT NULL,
	"started_revision" bigint,
	"started_at" timestamp(3) with time zone,
	"activity_revision" bigint NOT NULL,
	"activity_at" timestamp(3) with time zone NOT NULL,
	"changed_revision" bigint NOT NULL,
	"changed_at" timestamp(3) with time zone NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"installing" integer DEFAULT 0 NOT NULL,
	"installed" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"removing" integer DEFAULT 0 NOT NULL,
	"removed" integer DEFAULT 0 NOT NULL,
	"convergence_converged" integer DEFAULT 0 NOT NULL,
	"convergence_applying" integer DEFAULT 0 NOT NULL,
	"convergence_failed" integer DEFAULT 0 NOT NULL,
	"convergence_stale" integer DEFAULT 0 NOT NULL,
	"convergence_unknown" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "targets" (
	"key" bigint PRIMARY KEY NOT NULL,
	"kind" "target_kind" NOT NULL,
	"provider" text DEFAULT '' NOT NULL,
	"name" text NOT NULL,
	"site_key" bigint DEFAULT 0 NOT NULL,
	"folded_name" text,
	"display_name" text,
	"labels" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"registered" boolean DEFAULT false NOT NULL,
	"expected_interval" integer,
	"parent_key" bigint,
	"connectivity" "connectivity" DEFAULT 'UNKNOWN' NOT NULL,
	"last_heard_at" timestamp(3) with time zone,
	"connection_order" bigint,
	"revoked_at" timestamp(3) with time zone,
	"retired_at" timestamp(3) with time zone,
	"retired_reason" text,
	"replaced_by_key" bigint,
	"maintenance_key" bigint,
	"maintenance_reason" text,
	"maintenance_since" timestamp(3) with time zone,
	"maintenance_until" timestamp(3) with time zone,
	"maintenance_ended_at" timestamp(3) with time zone,
	"created_revision" bigint NOT NULL,
	"changed_write" bigint DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "declarations" (
	"rollout_key" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"project" text,
	"at" timestamp(3) with time zone NOT NULL,
	"who" text NOT NULL,
	"why" text NOT NULL,
	CONSTRAINT "declarations_rollout_key_revision_pk" PRIMARY KEY("rollout_key","revision")
);
--> statement-breakpoint
CREATE TABLE "desired_documents" (
	"digest" text PRIMARY KEY NOT NULL,
	"content" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "device_profiles" (
	"target_key" bigint PRIMARY KEY NOT NULL,
	"onboarded_at" timestamp(3) with time zone,
	"capabilities" text,
	"capabilities_at" timestamp(3) with time zone,
	"generation" text,
	"labels" jsonb DEFAULT '[]'::jsonb NOT NULL
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
CREATE TABLE "deployment_search" (
	"deployment_key" bigint PRIMARY KEY NOT NULL,
	"terms" text[] NOT NULL,
	"text" text
);
--> statement-breakpoint
CREATE TABLE "duties" (
	"name" text PRIMARY KEY NOT NULL,
	"cursor" bigint,
	"version" integer DEFAULT 1 NOT NULL,
	"former_version" integer,
	"former_cursor" bigint,
	"follows_log" boolean DEFAULT false NOT NULL,
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
	"counts_from" timestamp(3) with time zone NOT NULL,
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
CREATE TABLE "change_log" (
	"first_revision" bigint NOT NULL,
	"last_revision" bigint NOT NULL,
	"at" timestamp(3) with time zone NOT NULL,
	"observed_at" timestamp(3) with time zone,
	"traceparent" text,
	"deployment_key" bigint,
	"resource_key" bigint,
	"target_key" bigint,
	"from_target_key" bigint,
	"rollout_key" bigint,
	"from_rollout_key" bigint,
	"instance_key" bigint,
	"before" json,
	"from_state" "deployment_state",
	"from_convergence" "convergence",
	"to_state" "deployment_state",
	"to_convergence" "convergence",
	"found_by_changed" boolean NOT NULL,
	"changes" json NOT NULL,
	"size" integer GENERATED ALWAYS AS (octet_length(changes::text)) STORED NOT NULL,
	-- Counts in the past read this index only. A second index by revision would cost each report.
	CONSTRAINT "change_log_pkey" PRIMARY KEY ("first_revision") INCLUDE ("from_state", "from_convergence", "to_state", "to_convergence")
) PARTITION BY RANGE ("first_revision");
--> statement-breakpoint
CREATE TABLE "past_deployments" (
	"until" bigint PRIMARY KEY NOT NULL,
	"key" bigint NOT NULL,
	"target_key" bigint NOT NULL,
	"rollout_key" bigint NOT NULL,
	"instance_key" bigint,
	"is_current" boolean DEFAULT true NOT NULL,
	"application" text,
	"application_version" text,
	"state" "deployment_state" NOT NULL,
	"derived_state" "deployment_state",
	"consistent" boolean NOT NULL,
	"error" json,
	"failure_stage" "failure_stage",
	"readiness" "readiness" DEFAULT 'UNKNOWN' NOT NULL,
	"components" json NOT NULL,
	"attempt" integer NOT NULL,
	"adopted_manifest_version" numeric(20, 0),
	"target_manifest_version" numeric(20, 0),
	"document_digest" text,
	"convergence" "convergence" DEFAULT 'UNKNOWN' NOT NULL,
	"stalled" boolean DEFAULT false NOT NULL,
	"reported_at" timestamp(3) with time zone,
	"changed_at" timestamp(3) with time zone NOT NULL,
	"revision" bigint NOT NULL,
	"forgotten_at" timestamp(3) with time zone
) PARTITION BY RANGE ("until");
--> statement-breakpoint
CREATE TABLE "change_summaries" (
	"first_revision" bigint PRIMARY KEY NOT NULL,
	"last_revision" bigint NOT NULL,
	"entries" integer NOT NULL,
	"terms" text[] NOT NULL,
	"last_at" timestamp(3) with time zone NOT NULL,
	"sample_revisions" bigint[] NOT NULL,
	"sample_times" timestamp(3) with time zone[] NOT NULL
);
--> statement-breakpoint
CREATE TABLE "deployment_checkpoints" (
	"rollout_key" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"counts" json NOT NULL,
	CONSTRAINT "deployment_checkpoints_rollout_key_revision_pk" PRIMARY KEY("rollout_key","revision")
);
--> statement-breakpoint
CREATE TABLE "epochs" (
	"base" bigint PRIMARY KEY NOT NULL,
	"ended" bigint,
	"began_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "facet_checkpoints" (
	"facet" text NOT NULL,
	"revision" bigint NOT NULL,
	"counts" json NOT NULL,
	CONSTRAINT "facet_checkpoints_facet_revision_pk" PRIMARY KEY("facet","revision")
);
--> statement-breakpoint
CREATE TABLE "facet_counts" (
	"facet" text PRIMARY KEY NOT NULL,
	"counts" json NOT NULL
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
	"stamp" text DEFAULT '' NOT NULL,
	"identity" text NOT NULL,
	"pending" integer DEFAULT 0 NOT NULL,
	"installing" integer DEFAULT 0 NOT NULL,
	"installed" integer DEFAULT 0 NOT NULL,
	"failed" integer DEFAULT 0 NOT NULL,
	"removing" integer DEFAULT 0 NOT NULL,
	"removed" integer DEFAULT 0 NOT NULL,
	"convergence_converged" integer DEFAULT 0 NOT NULL,
	"convergence_applying" integer DEFAULT 0 NOT NULL,
	"convergence_failed" integer DEFAULT 0 NOT NULL,
	"convergence_stale" integer DEFAULT 0 NOT NULL,
	"convergence_unknown" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "maintenance_periods" (
	"target_key" bigint NOT NULL,
	"began_revision" bigint NOT NULL,
	"window_key" bigint NOT NULL,
	"reason" text NOT NULL,
	"began_at" timestamp(3) with time zone NOT NULL,
	"until" timestamp(3) with time zone NOT NULL,
	"ended_revision" bigint,
	"ended_at" timestamp(3) with time zone,
	"gone_at" timestamp(3) with time zone,
	"gone_source" text,
	CONSTRAINT "maintenance_periods_target_key_began_revision_pk" PRIMARY KEY("target_key","began_revision")
);
--> statement-breakpoint
CREATE TABLE "maintenance_windows" (
	"key" bigint PRIMARY KEY NOT NULL,
	"reason" text NOT NULL,
	"selector" json NOT NULL,
	"begins_at" timestamp(3) with time zone NOT NULL,
	"ends_at" timestamp(3) with time zone NOT NULL,
	"repeat" text,
	"time_zone" text NOT NULL,
	"next_at" timestamp(3) with time zone,
	"next_end" timestamp(3) with time zone,
	"begun" boolean DEFAULT false NOT NULL,
	"planned_revision" bigint NOT NULL,
	"planned_at" timestamp(3) with time zone NOT NULL,
	"planned_by" text NOT NULL,
	"ended_revision" bigint,
	"ended_at" timestamp(3) with time zone,
	"ended_by" text
);
--> statement-breakpoint
CREATE TABLE "oidc_sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"subject" text NOT NULL,
	"sid" text,
	"sealed" text NOT NULL,
	"refresh_at" timestamp(3) with time zone,
	"ends_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
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
	"told" "deployment_state",
	"has_failed" boolean NOT NULL,
	"is_current" boolean DEFAULT false NOT NULL,
	"successor_key" bigint,
	"status_context" text NOT NULL,
	"created_revision" bigint NOT NULL,
	"revision" bigint NOT NULL,
	"document" json
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
	"actor" text NOT NULL,
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
CREATE TABLE "rollout_labels" (
	"rollout_key" bigint NOT NULL,
	"since" bigint NOT NULL,
	"until" bigint,
	"labels" jsonb NOT NULL,
	CONSTRAINT "rollout_labels_rollout_key_since_pk" PRIMARY KEY("rollout_key","since")
);
--> statement-breakpoint
CREATE TABLE "deliveries" (
	"key" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "deliveries_key_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"sink_key" bigint NOT NULL,
	"event_id" text NOT NULL,
	"revision" bigint,
	"body" text NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"delivered_at" timestamp(3) with time zone,
	"last_status" integer,
	"last_error" text,
	"is_wanted" boolean DEFAULT false NOT NULL
);
--> statement-breakpoint
CREATE TABLE "sink_marks" (
	"sink_key" bigint NOT NULL,
	"resource_key" bigint NOT NULL,
	"hash" text NOT NULL,
	"detail_hash" text,
	"told" json NOT NULL,
	CONSTRAINT "sink_marks_sink_key_resource_key_pk" PRIMARY KEY("sink_key","resource_key")
);
--> statement-breakpoint
CREATE TABLE "sinks" (
	"key" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "sinks_key_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"kind" "sink_kind" NOT NULL,
	"name" text NOT NULL,
	"instance_key" bigint,
	"url" text NOT NULL,
	"secret" text,
	"filter" json DEFAULT '{}'::json NOT NULL,
	"settings" json DEFAULT '{}'::json NOT NULL,
	"paused" boolean DEFAULT false NOT NULL,
	"cursor" bigint NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"attempted_at" timestamp(3) with time zone,
	"succeeded_at" timestamp(3) with time zone,
	"last_status" integer,
	"last_error" text,
	"failures" integer DEFAULT 0 NOT NULL,
	"next_at" timestamp(3) with time zone,
	"holder" text,
	"held_until" timestamp(3) with time zone
);
--> statement-breakpoint
CREATE TABLE "site_deployments" (
	"site_key" bigint NOT NULL,
	"theirs" bigint NOT NULL,
	"key" bigint NOT NULL,
	"since" bigint NOT NULL,
	CONSTRAINT "site_deployments_site_key_theirs_pk" PRIMARY KEY("site_key","theirs")
);
--> statement-breakpoint
CREATE TABLE "site_targets" (
	"site_key" bigint NOT NULL,
	"theirs" bigint NOT NULL,
	"key" bigint NOT NULL,
	CONSTRAINT "site_targets_site_key_theirs_pk" PRIMARY KEY("site_key","theirs")
);
--> statement-breakpoint
CREATE TABLE "sites" (
	"key" bigint PRIMARY KEY NOT NULL,
	"epoch" bigint,
	"revision" bigint,
	"writes" bigint,
	"snapshot_epoch" bigint,
	"snapshot_revision" bigint,
	"snapshot_writes" bigint,
	"snapshot_after" bigint,
	"protocol" integer NOT NULL,
	"version" text NOT NULL,
	"backlog" bigint NOT NULL,
	"sent_at" timestamp(3) with time zone NOT NULL,
	"received_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "oidc_sessions" ADD CONSTRAINT "oidc_sessions_hash_api_sessions_hash_fk" FOREIGN KEY ("hash") REFERENCES "public"."api_sessions"("hash") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "api_sessions_expiry" ON "api_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "device_identities_target" ON "device_identities" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "device_tokens_target" ON "device_tokens" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "used_signatures_until" ON "used_signatures" USING btree ("until");--> statement-breakpoint
CREATE INDEX "alert_checks_rule" ON "alert_checks" USING btree ("rule_key");--> statement-breakpoint
CREATE INDEX "alert_checks_due" ON "alert_checks" USING btree ("due_at");--> statement-breakpoint
CREATE UNIQUE INDEX "alert_rules_name" ON "alert_rules" USING btree ("name");--> statement-breakpoint
CREATE INDEX "alert_rules_version" ON "alert_rules" USING btree ("version");--> statement-breakpoint
CREATE UNIQUE INDEX "alerts_firing" ON "alerts" USING btree ("rollout_key","rule_key") WHERE resolved_revision is null;--> statement-breakpoint
CREATE INDEX "alerts_firing_rule" ON "alerts" USING btree ("rule_key") WHERE resolved_revision is null;--> statement-breakpoint
CREATE INDEX "alerts_raised" ON "alerts" USING btree ("raised_revision");--> statement-breakpoint
CREATE INDEX "alerts_resolved" ON "alerts" USING btree ("resolved_revision") WHERE resolved_revision is not null;--> statement-breakpoint
CREATE INDEX "alerts_resolved_at" ON "alerts" USING btree ("resolved_at") WHERE resolved_at is not null;--> statement-breakpoint
CREATE INDEX "alerts_rollout" ON "alerts" USING btree ("rollout_key","raised_revision");--> statement-breakpoint
CREATE UNIQUE INDEX "deployment_names_reporter" ON "deployment_names" USING btree ("reporter","deployment_id") WHERE not is_remote;--> statement-breakpoint
CREATE INDEX "deployment_names_orchestrator" ON "deployment_names" USING btree ("reporter","deployment_id") WHERE is_remote;--> statement-breakpoint
CREATE INDEX "deployment_names_id" ON "deployment_names" USING btree ("deployment_id","deployment_key");--> statement-breakpoint
CREATE INDEX "deployment_names_search" ON "deployment_names" USING btree (lower(deployment_id) text_pattern_ops) WHERE not is_forgotten;--> statement-breakpoint
CREATE INDEX "deployment_names_target" ON "deployment_names" USING btree ("target_key","deployment_id");--> statement-breakpoint
CREATE INDEX "deployment_names_rollout" ON "deployment_names" USING btree ("rollout_key","deployment_id","deployment_key") WHERE not is_forgotten;--> statement-breakpoint
CREATE UNIQUE INDEX "deployments_place" ON "deployments" USING btree ("instance_key","target_key") WHERE instance_key is not null;--> statement-breakpoint
CREATE INDEX "deployments_target" ON "deployments" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "deployments_rollout" ON "deployments" USING btree ("rollout_key","revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_revision" ON "deployments" USING btree ("revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_state" ON "deployments" USING btree ("state","revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_convergence" ON "deployments" USING btree ("convergence","revision") WHERE forgotten_at is null;--> statement-breakpoint
CREATE INDEX "deployments_forgotten" ON "deployments" USING btree ("revision") WHERE forgotten_at is not null;--> statement-breakpoint
CREATE INDEX "deployments_stalled" ON "deployments" USING btree ("rollout_key") WHERE stalled and forgotten_at is null and is_current;--> statement-breakpoint
CREATE INDEX "deployments_instance" ON "deployments" USING btree ("instance_key","revision") WHERE instance_key is not null;--> statement-breakpoint
CREATE INDEX "deployments_with_error" ON "deployments" USING btree ("revision") WHERE forgotten_at is null and deployment_has_error(error, components);--> statement-breakpoint
CREATE INDEX "deployments_error_codes" ON "deployments" USING gin (deployment_error_codes(error, components)) WITH (fastupdate=false) WHERE forgotten_at is null and deployment_has_error(error, components);--> statement-breakpoint
CREATE INDEX "deployments_inconsistent" ON "deployments" USING btree ("revision") WHERE forgotten_at is null and not consistent;--> statement-breakpoint
CREATE INDEX "deployments_readiness" ON "deployments" USING btree ("readiness","revision") WHERE forgotten_at is null and readiness <> 'UNKNOWN';--> statement-breakpoint
CREATE INDEX "deployments_derived" ON "deployments" USING btree ("derived_state","revision") WHERE forgotten_at is null and derived_state <> state;--> statement-breakpoint
CREATE INDEX "reports_received" ON "reports" USING brin ("received_at");--> statement-breakpoint
CREATE INDEX "reports_stale" ON "reports" USING btree ("key") WHERE verdict = 'STALE';--> statement-breakpoint
CREATE UNIQUE INDEX "rollouts_identity" ON "rollouts" USING btree ("kind","identity");--> statement-breakpoint
CREATE INDEX "rollouts_search" ON "rollouts" USING btree (lower(name) text_pattern_ops);--> statement-breakpoint
CREATE INDEX "rollouts_name" ON "rollouts" USING btree ("name","key");--> statement-breakpoint
CREATE INDEX "rollouts_newest" ON "rollouts" USING btree ("key") WHERE kind <> 'MARGO_DEPLOYMENT';--> statement-breakpoint
CREATE UNIQUE INDEX "targets_name" ON "targets" USING btree ("kind","provider","name","site_key");--> statement-breakpoint
CREATE INDEX "site_deployments_key" ON "site_deployments" USING btree ("key");--> statement-breakpoint
CREATE INDEX "targets_site" ON "targets" USING btree ("site_key","name") WHERE site_key <> 0;--> statement-breakpoint
CREATE INDEX "targets_changed" ON "targets" USING btree ("changed_write");--> statement-breakpoint
CREATE INDEX "targets_search" ON "targets" USING btree (lower(name) text_pattern_ops);--> statement-breakpoint
CREATE INDEX "targets_folded" ON "targets" USING btree ("folded_name") WHERE folded_name is not null;--> statement-breakpoint
CREATE INDEX "targets_parent" ON "targets" USING btree ("parent_key") WHERE parent_key is not null;--> statement-breakpoint
CREATE INDEX "targets_retired" ON "targets" USING btree ("name") WHERE retired_at is not null;--> statement-breakpoint
CREATE INDEX "targets_maintenance" ON "targets" USING btree ("maintenance_key") WHERE maintenance_key is not null;--> statement-breakpoint
CREATE INDEX "targets_connectivity" ON "targets" USING btree ("connectivity") WHERE kind = 'DEVICE' and retired_at is null;--> statement-breakpoint
CREATE INDEX "targets_labels" ON "targets" USING gin (labels jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "targets_display_name" ON "targets" USING gin (text_trigrams(lower(display_name)) collate "C") WITH (fastupdate=false) WHERE display_name is not null;--> statement-breakpoint
CREATE INDEX "declarations_newest" ON "declarations" USING btree ("revision");--> statement-breakpoint
CREATE INDEX "declarations_project" ON "declarations" USING btree ("project","revision") WHERE project is not null;--> statement-breakpoint
CREATE INDEX "device_profiles_labels" ON "device_profiles" USING gin (labels jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "device_profiles_vendor" ON "device_profiles" USING hash (device_capability(capabilities, 'vendor'));--> statement-breakpoint
CREATE INDEX "device_profiles_model" ON "device_profiles" USING hash (device_capability(capabilities, 'modelNumber'));--> statement-breakpoint
CREATE INDEX "manifest_entries_deployment" ON "manifest_entries" USING btree ("deployment_key","since");--> statement-breakpoint
CREATE INDEX "deployment_search_parts" ON "deployment_search" USING gin (terms collate "C",text_trigrams(text) collate "C") WITH (fastupdate=false);--> statement-breakpoint
CREATE INDEX "deployment_search_long" ON "deployment_search" USING btree ("deployment_key") WHERE text is null;--> statement-breakpoint
CREATE INDEX "steps_in_progress_step" ON "steps_in_progress" USING btree ("rollout_key","component","state","counts_from");--> statement-breakpoint
CREATE INDEX "steps_in_progress_since" ON "steps_in_progress" USING btree ("has_peers","counts_from");--> statement-breakpoint
CREATE INDEX "change_log_deployment" ON "change_log" USING btree ("deployment_key","first_revision") WHERE deployment_key is not null and resource_key is null;--> statement-breakpoint
CREATE INDEX "change_log_deployment_resource" ON "change_log" USING btree ("deployment_key","first_revision") WHERE resource_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_resource" ON "change_log" USING btree ("resource_key","first_revision") WHERE resource_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_instance" ON "change_log" USING btree ("instance_key","first_revision") WHERE instance_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_rollout" ON "change_log" USING btree ("rollout_key","first_revision","from_rollout_key","from_state","from_convergence","to_state","to_convergence") WHERE rollout_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_from_target" ON "change_log" USING btree ("from_target_key","first_revision") WHERE from_target_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_from_rollout" ON "change_log" USING btree ("from_rollout_key","first_revision") WHERE from_rollout_key is not null;--> statement-breakpoint
CREATE INDEX "change_log_target" ON "change_log" USING btree ("target_key","first_revision") WHERE deployment_key is null and target_key is not null;--> statement-breakpoint
CREATE INDEX "past_deployments_state" ON "past_deployments" USING btree ("state","revision","until");--> statement-breakpoint
CREATE INDEX "change_summaries_time" ON "change_summaries" USING btree ("last_at","last_revision");--> statement-breakpoint
CREATE INDEX "maintenance_periods_ended" ON "maintenance_periods" USING btree ("ended_revision");--> statement-breakpoint
CREATE INDEX "maintenance_periods_gone" ON "maintenance_periods" USING btree ("gone_at") WHERE gone_at is not null and ended_revision is not null;--> statement-breakpoint
CREATE INDEX "maintenance_windows_next" ON "maintenance_windows" USING btree ("next_at") WHERE next_at is not null and ended_revision is null;--> statement-breakpoint
CREATE INDEX "maintenance_windows_planned" ON "maintenance_windows" USING btree ("planned_revision");--> statement-breakpoint
CREATE INDEX "oidc_sessions_refresh" ON "oidc_sessions" USING btree ("refresh_at");--> statement-breakpoint
CREATE INDEX "oidc_sessions_subject" ON "oidc_sessions" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "oidc_sessions_sid" ON "oidc_sessions" USING btree ("sid");--> statement-breakpoint
CREATE UNIQUE INDEX "instances_id" ON "instances" USING btree ("instance_id");--> statement-breakpoint
CREATE INDEX "instances_rollout" ON "instances" USING btree ("rollout_key","created_revision");--> statement-breakpoint
CREATE INDEX "instances_status_context" ON "instances" USING btree ("status_context");--> statement-breakpoint
CREATE INDEX "instances_current" ON "instances" USING btree ("rollout_key") WHERE is_current;--> statement-breakpoint
CREATE INDEX "resources_name" ON "resources" USING btree ("deployment_key","component","name");--> statement-breakpoint
CREATE INDEX "resources_search" ON "resources" USING btree (lower(name) text_pattern_ops) WHERE gone_at is null;--> statement-breakpoint
CREATE INDEX "resources_instance" ON "resources" USING btree ("instance_key","key") WHERE gone_at is null;--> statement-breakpoint
CREATE INDEX "resources_deployment" ON "resources" USING btree ("deployment_key","key") WHERE gone_at is null;--> statement-breakpoint
CREATE INDEX "resources_revision" ON "resources" USING btree ("instance_key","revision");--> statement-breakpoint
CREATE INDEX "resources_gone" ON "resources" USING btree ("revision") WHERE gone_at is not null;--> statement-breakpoint
CREATE INDEX "rollout_labels_labels" ON "rollout_labels" USING gin (labels jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "rollout_labels_until" ON "rollout_labels" USING btree ("until") WHERE until is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "deliveries_event" ON "deliveries" USING btree ("sink_key","event_id");--> statement-breakpoint
CREATE INDEX "deliveries_wanted" ON "deliveries" USING btree ("sink_key") WHERE is_wanted;--> statement-breakpoint
CREATE UNIQUE INDEX "sinks_name" ON "sinks" USING btree ("instance_key","name") WHERE kind = 'CALLBACK';--> statement-breakpoint
CREATE UNIQUE INDEX "sinks_inventory" ON "sinks" USING btree ("instance_key") WHERE kind = 'INVENTORY';--> statement-breakpoint
-- A report of a known deployment sets none of these columns, so it does not call the function.
CREATE FUNCTION name_deployment() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  insert into deployment_names (deployment_key, deployment_id, reporter, target_key, rollout_key, is_remote, is_forgotten)
    values (new.key, new.deployment_id, new.reporter, new.target_key, new.rollout_key, new.instance_key is not null or new.site_key <> 0, new.forgotten_at is not null)
    on conflict (deployment_key) do update set deployment_id = excluded.deployment_id, reporter = excluded.reporter, target_key = excluded.target_key,
      rollout_key = excluded.rollout_key, is_remote = excluded.is_remote, is_forgotten = excluded.is_forgotten;
  return null;
end $$;--> statement-breakpoint
CREATE TRIGGER "deployments_named" AFTER INSERT ON "deployments" FOR EACH ROW EXECUTE FUNCTION name_deployment();--> statement-breakpoint
CREATE TRIGGER "deployments_renamed" AFTER UPDATE OF "deployment_id", "reporter", "target_key", "rollout_key", "instance_key", "forgotten_at" ON "deployments" FOR EACH ROW
  WHEN ((old.deployment_id, old.reporter, old.target_key, old.rollout_key, old.instance_key is null, old.forgotten_at is null)
    is distinct from (new.deployment_id, new.reporter, new.target_key, new.rollout_key, new.instance_key is null, new.forgotten_at is null))
  EXECUTE FUNCTION name_deployment();--> statement-breakpoint
-- Rows are only appended here. A vacuum of the new ones lets counts in the past read the index alone. Servers add the later partitions
-- (src/store/write/partitions.ts), with the same settings.
CREATE TABLE "change_log_first" PARTITION OF "change_log" FOR VALUES FROM (MINVALUE) TO (MAXVALUE) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
CREATE TABLE "past_deployments_first" PARTITION OF "past_deployments" FOR VALUES FROM (MINVALUE) TO (MAXVALUE) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
CREATE TABLE "reports_first" PARTITION OF "reports" FOR VALUES FROM (MINVALUE) TO (MAXVALUE) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
CREATE TABLE "audit_log_first" PARTITION OF "audit_log" FOR VALUES FROM (MINVALUE) TO (MAXVALUE) WITH (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
-- Rows that are updated with each report get room beside them, so that their new versions need no new index entries. In a large table, a fifth of the rows
-- (the default) is too many before a vacuum: dead rows and old statistics make reads slow long before.
ALTER TABLE "rollouts" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "targets" SET (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "deployments" SET (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);--> statement-breakpoint
ALTER TABLE "log_head" SET (fillfactor = 10);--> statement-breakpoint
ALTER TABLE "batches" SET (fillfactor = 10);--> statement-breakpoint
ALTER TABLE "steps_in_progress" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
