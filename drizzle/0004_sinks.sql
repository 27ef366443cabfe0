CREATE TYPE "public"."sink_kind" AS ENUM('CALLBACK', 'WEBHOOK', 'INVENTORY');--> statement-breakpoint
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
CREATE UNIQUE INDEX "deliveries_event" ON "deliveries" USING btree ("sink_key","event_id");--> statement-breakpoint
CREATE INDEX "deliveries_wanted" ON "deliveries" USING btree ("sink_key") WHERE is_wanted;--> statement-breakpoint
CREATE UNIQUE INDEX "sinks_name" ON "sinks" USING btree ("instance_key","name") WHERE kind = 'CALLBACK';--> statement-breakpoint
CREATE UNIQUE INDEX "sinks_inventory" ON "sinks" USING btree ("instance_key") WHERE kind = 'INVENTORY';