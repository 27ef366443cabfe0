CREATE TABLE "facet_counts" (
	"facet" text PRIMARY KEY NOT NULL,
	"counts" json NOT NULL
);
--> statement-breakpoint
CREATE TABLE "facet_moves" (
	"facet" text NOT NULL,
	"revision" bigint NOT NULL,
	"counts" json NOT NULL,
	CONSTRAINT "facet_moves_facet_revision_pk" PRIMARY KEY("facet","revision")
);
