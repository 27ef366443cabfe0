/** Alert rules as they are given, by mutation or in a file: their checks, and the rule that is stored. */

import type { AlertMetric } from '../../../domain/alerts/alert.ts'
import { isForecastMetric } from '../../../domain/alerts/ending.ts'
import type { GivenRule } from '../../../ingest/commands/alert-rules.ts'
import { longestUrl } from '../../../platform/body/text.ts'
import type { DeploymentFilter } from '../../../store/read/filters/deployment-filter.ts'
import { type DeploymentFilterInput, toDeploymentFilter } from '../objects/selectors/deployment-filter.ts'
import type { InputCheck } from './input-check.ts'

export interface RuleInput {
  readonly name: string
  readonly metric: AlertMetric
  readonly threshold: number
  readonly selector?: DeploymentFilterInput | null | undefined
  readonly perRollout?: boolean | null | undefined
  readonly unit?: 'COUNT' | 'PERCENT' | null | undefined
  readonly resolveThreshold?: number | null | undefined
  readonly deadline?: number | null | undefined
  readonly forSeconds?: number | null | undefined
  readonly minimum?: number | null | undefined
  readonly severity?: 'CRITICAL' | 'WARNING' | 'INFO' | null | undefined
  readonly labels?: readonly { readonly key: string; readonly value: string }[] | null | undefined
  readonly description?: string | null | undefined
  readonly runbookUrl?: string | null | undefined
  readonly enabled?: boolean | null | undefined
  readonly holdInMaintenance?: boolean | null | undefined
}

/** Fields of a selector, and of its `where`, that name a moment: a rule would select less and less. */
const momentary: readonly string[] = ['changedAfter', 'changedBefore', 'lastHeardAfter', 'lastHeardBefore', 'retired']
const mostLabels = 32
const longestDescription = 2_000
/** Thirty days. */
const longestFor = 2_592_000

export function checkRule(input: RuleInput, check: InputCheck): void {
  const { name, selector, forSeconds, minimum } = input
  check.name(['name'], name)
  checkThresholds(input, check)
  checkForecast(input, check)
  if ((forSeconds ?? 0) < 0 || (forSeconds ?? 0) > longestFor)
    check.add(['forSeconds'], `must be from 0 to ${longestFor}`)
  if ((minimum ?? 1) < 1) check.add(['minimum'], 'must be at least 1')
  for (const path of momentaryFields(selector, ['selector'])) check.add(path, 'cannot be part of a rule')
  checkAnnotations(input, check)
}

function checkThresholds({ metric, threshold, unit, resolveThreshold }: RuleInput, check: InputCheck): void {
  const isTime = metric === 'NO_PROGRESS' || isForecastMetric(metric)
  const isPercent = metric === 'SUCCESS_RATE' || (!isTime && unit === 'PERCENT')
  const checkValue = (path: string, value: number, least: number): void => {
    if (value < least) check.add([path], `must be at least ${least}`)
    if (isPercent && value > 100) check.add([path], 'is a percentage: at most 100')
  }
  checkValue('threshold', threshold, isPercent || metric === 'DELAY' ? 0 : 1)
  if (isPercent && threshold === 0) check.add(['threshold'], 'must be greater than 0')
  if (resolveThreshold === null || resolveThreshold === undefined) return
  if (metric !== 'DELAY') checkValue('resolveThreshold', resolveThreshold, 0)
  if (metric === 'SUCCESS_RATE' && resolveThreshold < threshold)
    check.add(['resolveThreshold'], 'must not be less than threshold for SUCCESS_RATE')
  if (metric !== 'SUCCESS_RATE' && resolveThreshold > threshold)
    check.add(['resolveThreshold'], 'must not be greater than threshold')
  if (metric !== 'SUCCESS_RATE' && metric !== 'DELAY' && resolveThreshold === 0)
    check.add(['resolveThreshold'], 'must be greater than 0: no value is below it')
}

/** What a notification says besides the value. */
function checkAnnotations({ labels, description, runbookUrl }: RuleInput, check: InputCheck): void {
  if ((labels?.length ?? 0) > mostLabels) check.add(['labels'], `must have at most ${mostLabels} elements`)
  labels?.slice(0, mostLabels).forEach(({ key, value }, index) => {
    check.name(['labels', index, 'key'], key)
    check.text(['labels', index, 'value'], value)
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(key))
      check.add(['labels', index, 'key'], 'must be letters, digits and underscores, as Alertmanager requires')
  })
  if ((description?.length ?? 0) > longestDescription)
    check.add(['description'], `must have at most ${longestDescription} characters`)
  else if (description?.includes('\0') || description?.isWellFormed() === false)
    check.add(['description'], 'must not contain NUL or an unpaired surrogate')
  check.text(['runbookUrl'], runbookUrl, longestUrl)
  if (runbookUrl && !/^https?:\/\//i.test(runbookUrl)) check.add(['runbookUrl'], 'must be an http or https URL')
}

/** A forecast is that of a whole rollout. */
function checkForecast(
  { metric, perRollout, selector, deadline, holdInMaintenance }: RuleInput,
  check: InputCheck,
): void {
  const hasDeadline = (deadline ?? null) !== null
  if (metric === 'DELAY' && !hasDeadline) check.add(['deadline'], 'is required for DELAY')
  if (metric !== 'DELAY' && hasDeadline) check.add(['deadline'], 'is for DELAY only')
  if (!isForecastMetric(metric)) return
  if (holdInMaintenance)
    check.add(['holdInMaintenance'], `must be false for ${metric}: a forecast leaves out maintenance by itself`)
  if (!perRollout) check.add(['perRollout'], `must be true for ${metric}`)
  for (const [field, value] of Object.entries(selector ?? {}))
    if (field !== 'rolloutIds' && (value ?? null) !== null)
      check.add(['selector', field], `cannot be part of a rule with ${metric}: it compares whole rollouts`)
}

function momentaryFields(part: unknown, path: readonly string[]): (readonly string[])[] {
  if (typeof part !== 'object' || part === null) return []
  return Object.entries(part).flatMap(([name, value]) => {
    const own = [...path, name]
    return momentary.includes(name) && value !== null && value !== undefined ? [own] : momentaryFields(value, own)
  })
}

/** What is counted. Without devices in maintenance, no stored counter answers. */
function heldFilter({ selector, holdInMaintenance }: RuleInput): DeploymentFilter {
  const filter = toDeploymentFilter(selector)
  if (!holdInMaintenance) return filter
  const held = { inMaintenance: false }
  return { ...filter, where: filter.where ? { and: [filter.where, held] } : held }
}

export function toGivenRule(input: RuleInput): GivenRule {
  const { name, metric, threshold, selector, unit, deadline, labels, description, runbookUrl } = input
  const given = Object.fromEntries(Object.entries(selector ?? {}).filter(([, value]) => (value ?? null) !== null))
  return {
    name,
    enabled: input.enabled ?? true,
    // As the database returns them: equal rules are then equal values.
    selector: JSON.parse(JSON.stringify({ given, filter: heldFilter(input) })),
    rule: {
      ...{ metric, threshold, unit: unit ?? 'COUNT', resolveThreshold: input.resolveThreshold ?? threshold },
      ...{ perRollout: input.perRollout ?? false, forSeconds: input.forSeconds ?? 0, minimum: input.minimum ?? 1 },
      ...{ severity: input.severity ?? 'WARNING', description: description || null, runbookUrl: runbookUrl || null },
      // Absent from other rules, so that those saved before the field existed are equal.
      ...(deadline !== null && deadline !== undefined && { deadline }),
      ...(input.holdInMaintenance && { holdInMaintenance: true as const }),
      labels: (labels ?? []).map(({ key, value }) => ({ key, value })),
    },
  }
}
