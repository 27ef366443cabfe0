-- The parts of three characters. With the extension pg_trgm, some databases would have no index: it needs a package and a right.
CREATE OR REPLACE FUNCTION text_trigrams(value text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
declare
  letters text[] := string_to_array(value, null);
  found text[] := '{}';
begin
  for i in 1 .. cardinality(letters) - 2 loop
    found[i] := letters[i] || letters[i + 1] || letters[i + 2];
  end loop;
  return found;
end $$;--> statement-breakpoint
-- A function, because an index takes immutable expressions only, and text as JSON is not one.
CREATE OR REPLACE FUNCTION device_capability(capabilities text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
begin
  return capabilities::json #>> array['properties', name];
end $$;--> statement-breakpoint
CREATE TABLE "deployment_search" (
	"deployment_key" bigint PRIMARY KEY NOT NULL,
	"terms" text[] NOT NULL,
	"text" text
);
--> statement-breakpoint
CREATE INDEX "deployment_search_parts" ON "deployment_search" USING gin (terms collate "C",text_trigrams(text) collate "C") WITH (fastupdate=false);--> statement-breakpoint
CREATE INDEX "deployment_search_long" ON "deployment_search" USING btree ("deployment_key") WHERE text is null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "targets_display_name" ON "targets" USING gin (text_trigrams(lower(display_name)) collate "C") WITH (fastupdate=false) WHERE display_name is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "device_profiles_vendor" ON "device_profiles" USING hash (device_capability(capabilities, 'vendor'));--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "device_profiles_model" ON "device_profiles" USING hash (device_capability(capabilities, 'modelNumber'));