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
);
--> statement-breakpoint
CREATE UNIQUE INDEX "api_keys_hash" ON "api_keys" USING btree ("hash");--> statement-breakpoint
CREATE INDEX "api_sessions_expiry" ON "api_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");