ALTER TABLE "rollouts" ADD COLUMN "created_at" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "started_revision" bigint;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "started_at" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "activity_revision" bigint;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "activity_at" timestamp(3) with time zone;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "changed_revision" bigint;--> statement-breakpoint
ALTER TABLE "rollouts" ADD COLUMN "changed_at" timestamp(3) with time zone;--> statement-breakpoint
-- Each look-up is one range of an index for a rollout. What the log no longer has is taken from the rollout's deployments, and is otherwise as old
-- as the log's tail.
update rollouts as r set
  created_at = coalesce(
    (select e.at from change_log e where e.first_revision <= r.created_revision order by e.first_revision desc limit 1),
    (select tail_at from log_head)),
  started_revision = started.revision, started_at = started.at,
  activity_revision = coalesce(activity.revision, r.created_revision), activity_at = coalesce(activity.at, (select tail_at from log_head)),
  changed_revision = coalesce(changed.revision, r.created_revision), changed_at = coalesce(changed.at, (select tail_at from log_head))
from rollouts o
left join lateral (
  select coalesce(e.last_revision, o.created_revision) as revision, coalesce(e.at, (select tail_at from log_head)) as at
  from (select 1) as one
  left join lateral (
    select e.last_revision, e.at from change_log e cross join lateral json_array_elements(e.changes) as b(c)
    where e.rollout_key = o.key and e.resource_key is null and e.deployment_key is not null
      and ((b.c ->> 'kind' = 'DEPLOYMENT_STATE_CHANGED' and b.c ->> 'to' <> 'PENDING') or (e.from_rollout_key is not null and e.before ->> 'state' <> 'PENDING'))
    order by e.first_revision limit 1
  ) as e on o.created_revision > (select tail from log_head)
  where o.installing + o.installed + o.failed + o.removing + o.removed > 0 or e.last_revision is not null
) as started on true
left join lateral (
  select e.last_revision as revision, e.at from (
    (select e.first_revision, e.last_revision, e.at from change_log e cross join lateral json_array_elements(e.changes) as b(c)
     where e.rollout_key = o.key and e.resource_key is null and e.deployment_key is not null
       and ((b.c ->> 'kind' = 'DEPLOYMENT_STATE_CHANGED'
             and (coalesce(b.c ->> 'from', '') in ('PENDING', 'INSTALLING', 'REMOVING')) <> (b.c ->> 'to' in ('PENDING', 'INSTALLING', 'REMOVING')))
         or ((b.c ->> 'kind' = 'DEPLOYMENT_FORGOTTEN' or b.c ->> 'isCurrent' is not null or e.from_rollout_key is not null)
             and e.before ->> 'state' in ('PENDING', 'INSTALLING', 'REMOVING')))
     order by e.first_revision desc limit 1)
    union all
    (select e.first_revision, e.last_revision, e.at from change_log e
     where e.from_rollout_key = o.key and e.before ->> 'state' in ('PENDING', 'INSTALLING', 'REMOVING')
     order by e.first_revision desc limit 1)
  ) as e order by e.first_revision desc limit 1
) as activity on true
left join lateral (
  select e.revision, e.at from (
    (select e.last_revision as revision, e.at from change_log e where e.rollout_key = o.key order by e.first_revision desc limit 1)
    union all
    (select e.last_revision, e.at from change_log e where e.from_rollout_key = o.key order by e.first_revision desc limit 1)
    union all
    (select d.revision, d.changed_at from deployments d where d.rollout_key = o.key and d.forgotten_at is null order by d.revision desc limit 1)
  ) as e order by e.revision desc limit 1
) as changed on true
where o.key = r.key;
