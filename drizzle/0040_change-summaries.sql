CREATE TABLE "change_summaries" (
	"first_revision" bigint PRIMARY KEY NOT NULL,
	"last_revision" bigint NOT NULL,
	"entries" integer NOT NULL,
	"terms" text[] NOT NULL
);
