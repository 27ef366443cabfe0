-- Functions, because an index takes immutable expressions only, and JSON as text is not one. The text of `components` has `"error":{` exactly
-- where a component has an error: within a string, a quotation mark is escaped.
CREATE FUNCTION deployment_has_error(error json, components json) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE COST 1 AS $$
begin
  return coalesce(error::text like '{%', false) or components::text like '%"error":{%' or components::text like '%"error": {%';
end $$;--> statement-breakpoint
CREATE FUNCTION deployment_error_codes(error json, components json) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  select coalesce(array_agg(distinct code) filter (where code is not null), '{}') from (
    select error ->> 'code' as code
    union all select component -> 'error' ->> 'code' from json_array_elements(components) as component
  ) as codes
$$;--> statement-breakpoint
CREATE INDEX "deployments_with_error" ON "deployments" USING btree ("revision") WHERE forgotten_at is null and deployment_has_error(error, components);--> statement-breakpoint
CREATE INDEX "deployments_error_codes" ON "deployments" USING gin (deployment_error_codes(error, components)) WITH (fastupdate=false) WHERE forgotten_at is null and deployment_has_error(error, components);--> statement-breakpoint
CREATE INDEX "deployments_inconsistent" ON "deployments" USING btree ("revision") WHERE forgotten_at is null and not consistent;--> statement-breakpoint
CREATE INDEX "deployments_readiness" ON "deployments" USING btree ("readiness","revision") WHERE forgotten_at is null and readiness <> 'UNKNOWN';--> statement-breakpoint
CREATE INDEX "deployments_derived" ON "deployments" USING btree ("derived_state","revision") WHERE forgotten_at is null and derived_state <> state;--> statement-breakpoint
CREATE INDEX "device_profiles_labels" ON "device_profiles" USING gin (labels jsonb_path_ops);