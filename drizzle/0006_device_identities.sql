CREATE TABLE "device_identities" (
	"id" text PRIMARY KEY NOT NULL,
	"target_key" bigint NOT NULL,
	"public_key" text,
	"added_at" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "used_signatures" (
	"id" text PRIMARY KEY NOT NULL,
	"until" timestamp(3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE INDEX "device_identities_target" ON "device_identities" USING btree ("target_key");--> statement-breakpoint
CREATE INDEX "used_signatures_until" ON "used_signatures" USING btree ("until");