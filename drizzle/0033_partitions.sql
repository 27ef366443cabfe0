-- The log, the reports and the audit log become tables of partitions. Their rows become the first partition, of the range of all keys: to attach
-- that range reads no row, and the indexes are attached as they are. So the time that this takes does not depend on the number of rows.
-- Servers find the later partitions (store/write/partitions.ts).
lock table change_log, reports, audit_log in access exclusive mode
--> statement-breakpoint
create function pg_temp.divide(parent text, key text) returns void language plpgsql as $$
declare
  first text := parent || '_first';
  line text;
begin
  execute format('alter table %I rename to %I', parent, first);
  for line in select relname from pg_index join pg_class c on c.oid = indexrelid where indrelid = first::regclass loop
    execute format('alter index %I rename to %I', line, replace(line, parent, first));
  end loop;
  execute format('create table %I (like %I including defaults including storage) partition by range (%I)', parent, first, key);
  for line in select format('alter table %I add constraint %I %s', parent, replace(conname, first, parent), pg_get_constraintdef(oid))
      from pg_constraint where conrelid = first::regclass and contype = 'p' loop
    execute line;
  end loop;
  for line in select replace(replace(pg_get_indexdef(indexrelid), 'INDEX ' || first, 'INDEX ' || parent), '.' || first || ' ', '.' || parent || ' ')
      from pg_index where indrelid = first::regclass and not indisprimary and indexrelid::regclass::text <> 'change_log_first_at' loop
    execute line;
  end loop;
  execute format('alter table %I attach partition %I for values from (minvalue) to (maxvalue)', parent, first);
end $$
--> statement-breakpoint
select pg_temp.divide('change_log', 'first_revision')
--> statement-breakpoint
-- No statement of this version needs this index, and no later partition has it. The previous version, beside this one, finds times by it.
do $$ begin
  if not exists (select from change_log_first) then drop index change_log_first_at; end if;
end $$
--> statement-breakpoint
select pg_temp.divide('reports', 'key')
--> statement-breakpoint
-- The previous version removes reports by ctid. Of several partitions, that would be others than it means.
create function reports_are_partitioned() returns trigger language plpgsql as $$ begin
  if (select count(*) from pg_inherits where inhparent = 'reports'::regclass) > 1 then
    raise exception 'reports are removed from one partition at a time';
  end if;
  return null;
end $$
--> statement-breakpoint
create trigger reports_are_partitioned before delete on reports for each statement execute function reports_are_partitioned()
--> statement-breakpoint
alter table audit_log alter column key drop identity
--> statement-breakpoint
select pg_temp.divide('audit_log', 'key')
--> statement-breakpoint
alter table audit_log alter column key add generated always as identity
--> statement-breakpoint
select setval(pg_get_serial_sequence('audit_log', 'key'), (select coalesce(max(key), 0) + 1 from audit_log), false)
--> statement-breakpoint
drop function pg_temp.divide(text, text)
