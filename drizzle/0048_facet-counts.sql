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
