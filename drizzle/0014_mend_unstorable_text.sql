-- JSON columns took escapes of U+0000 and of half a surrogate pair, and every `->>` on such a row fails since: each becomes U+FFFD.
-- An escape counts only behind an even number of backslashes. Whole pairs are put aside first, behind U+0001, which no JSON text contains.
create function pg_temp.mend(value text) returns text immutable language sql as $$
  select replace(regexp_replace(regexp_replace(value,
    '(?<!\\)((?:\\\\)*)\\(ud[89ab][0-9a-f]{2})\\(ud[c-f][0-9a-f]{2})', e'\\1\x01\\2\x01\\3', 'gi'),
    '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1\\ufffd', 'gi'),
    e'\x01', '\')
$$
--> statement-breakpoint
update deployments set error = pg_temp.mend(error::text)::json, components = pg_temp.mend(components::text)::json, declared_components = pg_temp.mend(declared_components::text)::json, marks = pg_temp.mend(marks::text)::json
  where error::text ~* '\\u(0000|d[89a-f])' or components::text ~* '\\u(0000|d[89a-f])' or declared_components::text ~* '\\u(0000|d[89a-f])' or marks::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update change_log set before = pg_temp.mend(before::text)::json, changes = pg_temp.mend(changes::text)::json
  where before::text ~* '\\u(0000|d[89a-f])' or changes::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update reports set error = pg_temp.mend(error::text)::json, components = pg_temp.mend(components::text)::json
  where error::text ~* '\\u(0000|d[89a-f])' or components::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update instances set document = pg_temp.mend(document::text)::json
  where document::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update resource_details set detail = pg_temp.mend(detail::text)::json, applied_detail = pg_temp.mend(applied_detail::text)::json
  where detail::text ~* '\\u(0000|d[89a-f])' or applied_detail::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update sinks set filter = pg_temp.mend(filter::text)::json, settings = pg_temp.mend(settings::text)::json
  where filter::text ~* '\\u(0000|d[89a-f])' or settings::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update sink_marks set told = pg_temp.mend(told::text)::json
  where told::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update audit_log set detail = pg_temp.mend(detail::text)::json
  where detail::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update api_keys set roles = pg_temp.mend(roles::text)::json, scopes = pg_temp.mend(scopes::text)::json
  where roles::text ~* '\\u(0000|d[89a-f])' or scopes::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update api_sessions set roles = pg_temp.mend(roles::text)::json, scopes = pg_temp.mend(scopes::text)::json
  where roles::text ~* '\\u(0000|d[89a-f])' or scopes::text ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
update device_profiles set capabilities = pg_temp.mend(capabilities) where capabilities ~* '\\u(0000|d[89a-f])'
--> statement-breakpoint
drop function pg_temp.mend(text)
