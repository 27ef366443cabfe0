/**
 * The deployments that the index beside them finds (store/write/derived/search-entries.ts), for conditions on applications, components and text. It is
 * behind the writer, so the deployments that have changed since belong to each range, and are compared with the filter. The others have the terms that
 * their entries have: to parse the components of each would take twice the time. A text is compared with every row.
 */
import { type SQL, sql } from 'drizzle-orm'
import { isStorable } from '../../../domain/text.ts'
import { all, listParameter } from '../../sql/parameters.ts'
import { deploymentSearch, duties, targets } from '../../tables/schema.ts'
import { type DeploymentCondition, d } from '../deployment-filter.ts'
import { beside, byRevision, keyed, own, type Range, type Ranges, type Served } from './source-range.ts'

type Searched = Pick<DeploymentCondition, 'applications' | 'applicationVersions' | 'components' | 'text'>

/** Characters of the parts of texts that are indexed. */
const part = 3

/** Each element is enough: its ranges have all deployments that match all of these conditions. */
export function searchRanges(conditions: readonly Searched[]): readonly Ranges[] {
  const terms = termsOf(conditions)
  const texts = conditions
    .flatMap(({ text }) => text ?? [])
    .filter((text) => isStorable(text) && [...text].length >= part)
  if (texts.length === 0) {
    const served = conditions.flatMap(servedBy)
    return terms.length === 0 ? [] : [[entries(terms), changedSince].map((range) => ({ ...range, served }))]
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
  return conditions.flatMap(({ applications, applicationVersions, components }) => [
    ...(applications ? [hasTerm('a', applications)] : []),
    ...(applicationVersions ? [hasTerm('v', applicationVersions)] : []),
    ...(components ? [hasTerm('c', components)] : []),
  ])
}

function servedBy(condition: Searched): Served[] {
  return (['applications', 'applicationVersions', 'components'] as const)
    .filter((field) => condition[field] !== undefined)
    .map((field) => ({ field, value: condition[field], exceptWhere: hasChanged }))
}

function entries(conditions: readonly SQL[]): Range {
  return keyed(sql`select ${deploymentSearch.deploymentKey} as key from ${deploymentSearch} where ${all(conditions)}`)
}

function hasTerm(kind: 'a' | 'v' | 'c', values: readonly string[]): SQL {
  const terms = values.map((value) => `${kind}:${value}`)
  return sql`${deploymentSearch.terms} collate "C" && ${listParameter(terms, 'text')}`
}

/** The condition that a text in lower case has all parts of another. */
function hasParts(folded: SQL, text: string): SQL {
  return sql`text_trigrams(${folded}) collate "C" @> text_trigrams(lower(${text}::text))`
}

/** The text of an entry lacks the display name, which changes without a revision. */
function onTargetsCalled(text: string): Range {
  const called = sql`select ${targets.key} as key from ${targets}
    where ${targets.displayName} is not null and ${hasParts(sql`lower(${targets.displayName})`, text)}`
  return beside(called, sql`${d.targetKey} = place.key`)
}

/** The deployments that have changed since have a higher revision. */
export const cursor = sql`(select coalesce(max(${duties.cursor}), 0) from ${duties} where ${duties.name} = 'search')`
const hasChanged = sql`${d.revision} > ${cursor}`
const changedSince = own(hasChanged, byRevision)
