/** `--selector`, as of kubectl: conditions on labels, separated by commas, all of which must hold. */
import type { LabelCondition } from './label-condition.ts'

const condition =
  /^(?:(?<absent>![^\s!=,()]+)|(?<key>[^\s!=,()]+)(?:\s*(?<operator>==?|!=)\s*(?<value>[^,()]*)|\s+(?<list>in|notin)\s*\((?<values>[^()]*)\))?)$/

/** Null: the text is no selector. */
export function parseLabelSelector(text: string): readonly LabelCondition[] | null {
  // Commas within parentheses separate values.
  const conditions = text.split(/,(?![^(]*\))/).map((part) => conditionOf(part.trim()))
  return conditions.every((part) => part !== null) ? conditions : null
}

function conditionOf(text: string): LabelCondition | null {
  const groups = condition.exec(text)?.groups
  if (!groups) return null
  const { absent, key = '', operator, value = '', list, values = '' } = groups
  if (absent !== undefined) return { key: absent.slice(1), exists: false }
  const some = values.split(',').map((one) => one.trim())
  if (list === 'in') return { key, in: some }
  if (list === 'notin') return { key, notIn: some }
  if (operator === '!=') return { key, notIn: [value.trim()] }
  return operator === undefined ? { key, exists: true } : { key, equals: value.trim() }
}
