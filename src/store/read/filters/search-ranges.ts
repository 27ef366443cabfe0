/**
 * The deployments that the index beside them finds (store/write/derived/search-entries.ts), for conditions on applications, components and text. It is
 * behind the writer, so the deployments that have changed since belong to each range, and are compared with the filter. The others have the terms that
 * their entries have: to parse the components of each would take twice the time. A text is compared with every row.
 */
import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { isStorable } from '../../../domain/text.ts'
import { covered } from '../../projection.ts'
import { all, hasElementOf, isHashed, listParameter } from '../../sql/parameters.ts'
import { deploymentSearch, targets } from '../../tables/schema.ts'
import { searchProjection } from '../../write/derived/search-entries.ts'
import { type DeploymentCondition, d } from './deployment-filter.ts'
import { byRevision, type Range, type Ranges, rowsOfIndexKeys, rowsOfKeys, rowsWhere, type Served } from './range.ts'

type Searched = Pick<DeploymentCondition, 'applications' | 'applicationVersions' | 'components' | 'text'>

/** Characters of the parts of texts that are indexed. */
const part = 3

export function hasIndexedPart(text: string): boolean {
  return isStorable(text) && [...text].length >= part
}

/** Each element is enough: its ranges have all deployments that match all of these conditions. */
export function searchRanges(conditions: readonly Searched[]): readonly Ranges[] {
  const terms = termsOf(conditions)
  const lists = termLists(conditions)
  const texts = conditions.flatMap(({ text }) => text ?? []).filter(hasIndexedPart)
  if (texts.length === 0) {
    const served = conditions.flatMap(servedBy)
    return terms.length === 0
      ? []
      : [
          [lists.every(isHashed) ? entriesByTerm(lists) : entries(terms), changedSince].map((range) => ({
            ...range,
            served,
          })),
        ]
  }
  return texts.map((text) => [
    entries([...terms, hasParts(sql`${deploymentSearch.text}`, text)]),
    entries([...terms, sql`${deploymentSearch.text} is null`]),
    onTargetsCalled(text),
    changedSince,
  ])
}

/** Conditions on an entry of the index. */
export function termsOf(conditions: readonly Searched[]): SQL[] {
  return termLists(conditions).map((terms) => hasTerm(deploymentSearch.terms, terms))
}

/** Terms, of each list of which an entry has one. */
function termLists(conditions: readonly Searched[]): readonly (readonly string[])[] {
  return conditions.flatMap(({ applications, applicationVersions, components }) =>
    Object.entries({ a: applications, v: applicationVersions, c: components }).flatMap(([kind, values]) =>
      values ? [[...new Set(values)].map((value) => `${kind}:${value}`)] : [],
    ),
  )
}

function servedBy(condition: Searched): Served[] {
  return (['applications', 'applicationVersions', 'components'] as const)
    .filter((field) => condition[field] !== undefined)
    .map((field) => ({ field, value: condition[field], exceptWhere: hasChanged }))
}

function entries(conditions: readonly SQL[]): Range {
  return rowsOfIndexKeys(
    sql`select ${deploymentSearch.deploymentKey} as key from ${deploymentSearch} where ${all(conditions)}`,
  )
}

/**
 * The entries with a term of each of these lists, which are too long for one look into the index: a look for each term of the first. Each entry is found
 * once, without waiting for the others: by the first of its terms that are in the list.
 */
function entriesByTerm([first = [], ...others]: readonly (readonly string[])[]): Range {
  const { deploymentKey, terms } = deploymentSearch
  const rows = sql`select ${deploymentKey} as key, ${terms} from ${deploymentSearch}
    where ${all([sql`${terms} collate "C" @> array[wanted.element]`, ...others.map((list) => hasTerm(terms, list))])}`
  const list = listParameter(first, 'text')
  return rowsOfIndexKeys(
    sql`select found.key from unnest(${list}) as wanted(element) cross join lateral (${rows} offset 0) as found
      where wanted.element = (select own from unnest(found.terms) as own where own = any(${list}) order by 1 limit 1)`,
  )
}

/** The condition that one of its terms is in the list. */
export function hasTerm(own: SQLWrapper, terms: readonly string[]): SQL {
  const list = listParameter(terms, 'text')
  return isHashed(terms) ? hasElementOf(sql`unnest(${own})`, list) : sql`${own} collate "C" && ${list}`
}

/** The condition that a text in lower case has all parts of another. */
export function hasParts(folded: SQL, text: string): SQL {
  return sql`text_trigrams(${folded}) collate "C" @> text_trigrams(lower(${text}::text))`
}

/** The text of an entry lacks the display name, which changes without a revision. */
function onTargetsCalled(text: string): Range {
  const called = sql`select ${targets.key} as key from ${targets}
    where ${targets.displayName} is not null and ${hasParts(sql`lower(${targets.displayName})`, text)}`
  return rowsOfKeys(called, sql`${d.targetKey} = place.key`)
}

/** The deployments that have changed since have a higher revision. */
export const cursor = sql.raw(covered(searchProjection))
const hasChanged = sql`${d.revision} > ${cursor}`
const changedSince = rowsWhere(hasChanged, byRevision)
