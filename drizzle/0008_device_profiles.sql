CREATE TABLE "device_profiles" (
	"target_key" bigint PRIMARY KEY NOT NULL,
	"onboarded_at" timestamp(3) with time zone,
	"capabilities" text,
	"capabilities_at" timestamp(3) with time zone,
	"generation" text
);
