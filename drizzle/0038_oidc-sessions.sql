CREATE TABLE "oidc_sessions" (
	"hash" text PRIMARY KEY NOT NULL,
	"subject" text NOT NULL,
	"sid" text,
	"sealed" text NOT NULL,
	"refresh_at" timestamp(3) with time zone,
	"ends_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "oidc_sessions" ADD CONSTRAINT "oidc_sessions_hash_api_sessions_hash_fk" FOREIGN KEY ("hash") REFERENCES "public"."api_sessions"("hash") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "oidc_sessions_refresh" ON "oidc_sessions" USING btree ("refresh_at");--> statement-breakpoint
CREATE INDEX "oidc_sessions_subject" ON "oidc_sessions" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "oidc_sessions_sid" ON "oidc_sessions" USING btree ("sid");