CREATE TABLE "device_deviations" (
	"target_key" bigint NOT NULL,
	"kind" text NOT NULL,
	"count" bigint NOT NULL,
	"last_at" timestamp(3) with time zone NOT NULL,
	"example" text NOT NULL,
	CONSTRAINT "device_deviations_target_key_kind_pk" PRIMARY KEY("target_key","kind")
);
