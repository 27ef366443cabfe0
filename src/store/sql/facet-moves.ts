/**
 * What entries of the log did to the counts of deployments by facet. A facet is what a deployment has one of, by which it can be filtered:
 *
 *   a:<application>   v:<version>   e:<code>, if it or a component has an error of this code   e, if there is any error
 *
 * The state after an entry is the one before it, with the entry's changes (domain/fold.ts).
 */

/** Bytes. An index row has no room for more: a longer one is not counted. */
export const longestFacet = 1_000
/** The name of every application is shorter (`longestId`), so the deployments that have none of these facets have no application. */
const longestApplication = 2_000

const isCounted = `octet_length(facet) <= case left(facet, 2) when 'a:' then ${longestApplication} else ${longestFacet} end`

/** The columns that a row of `entries` needs besides `first_revision`, for `select … from change_log`. */
export const entryColumns = 'changes, from_state, from_convergence, to_state, to_convergence'

/** A group of all codes, for each that is not null; and one for all of them if there are any. */
const eachCodeAndAny =
  'group by grouping sets ((code), ()) having code is not null or grouping(code) = 1 and count(code) > 0'

/** Rows {facet, state, convergence, n}: the difference `n` of the number of deployments with these values, from rows `entries`. */
export const selectFacetMoves = `
  select facet, state, convergence, sum(n)::int as n from (
    with moved as materialized (
      select was.*, changes, from_state, from_convergence, to_state, to_convergence,
        strpos(changes::text, '"DEPLOYMENT_REVISED"') > 0 as is_revised,
        strpos(concat(was.error, was.components, changes), '"code"') > 0 as has_code
      from entries left join (
        select until, application, application_version as version, error, components, forgotten_at from past_deployments
        where until >= (select min(first_revision) from entries) and until <= (select max(first_revision) from entries) offset 0) as was
      on was.until = entries.first_revision
      where from_state is not null or to_state is not null
    ), products as (
      select application, version, revised.product, from_state, from_convergence, to_state, to_convergence, count(*)::int as n
      from moved left join lateral (
        select json_build_array(application, "applicationVersion")::text as product
        from rows from (json_to_recordset(changes) as (kind text, application text, "applicationVersion" text)) with ordinality as change(kind, application, "applicationVersion", place)
        where is_revised and kind = 'DEPLOYMENT_REVISED' order by place desc limit 1) as revised on true
      where is_revised or from_state is distinct from to_state or from_convergence is distinct from to_convergence
      group by 1, 2, 3, 4, 5, 6, 7
    )
    select counted.* from products cross join lateral (values
      ('a:' || application, from_state, from_convergence, -n), ('v:' || version, from_state, from_convergence, -n),
      ('a:' || case when product is null then application else product::json ->> 0 end, to_state, to_convergence, n),
      ('v:' || case when product is null then version else product::json ->> 1 end, to_state, to_convergence, n)) as counted(facet, state, convergence, n)
    union all
    select 'e' || coalesce(':' || code, ''), state, convergence, n from (select * from moved where has_code) as was
    cross join lateral (
      select bool_or(kind = 'DEPLOYMENT_MOVED') or was.forgotten_at is not null as is_reset from json_to_recordset(changes) as change(kind text)) as start
    cross join lateral (
      select from_state as state, from_convergence as convergence, -1 as n, code from (
        select was.error ->> 'code' as code union select error ->> 'code' from json_to_recordset(was.components) as part(error json)) as codes
      ${eachCodeAndAny}
      union all
      select to_state, to_convergence, 1, code from (
        (select code from (
            select was.error ->> 'code' as code, 0 as place where not is_reset
            union all select error ->> 'code', place from rows from (json_to_recordset(changes) as (kind text, error json)) with ordinality as change(kind, error, place)
              where kind = 'DEPLOYMENT_STATE_CHANGED') as own
          order by place desc limit 1)
        union select code from (
          select distinct on (name) code from (
            select name, error ->> 'code' as code, 0 as place from json_to_recordset(was.components) as part(name text, error json) where not is_reset
            union all select component, error ->> 'code', place
              from rows from (json_to_recordset(changes) as (kind text, component text, error json)) with ordinality as change(kind, component, error, place)
              where kind in ('COMPONENT_STATE_CHANGED', 'COMPONENT_REMOVED')) as part
          order by name, place desc) as parts) as codes
      ${eachCodeAndAny}
    ) as counted
  ) as facets where state is not null and ${isCounted} group by 1, 2, 3 having sum(n) <> 0`

/** The same rows of what the deployments of rows `step` are now. */
export const selectFacetTotals = `
  select facet, state, convergence, count(*)::int as n from step d cross join lateral (
    select unnest(array['a:' || d.application, 'v:' || d.application_version]) as facet
    union all select 'e' || coalesce(':' || code, '') from unnest(array_append(deployment_error_codes(d.error, d.components), null)) as code
      where deployment_has_error(d.error, d.components)) as facets
  where d.forgotten_at is null and d.is_current and ${isCounted} group by 1, 2, 3`
