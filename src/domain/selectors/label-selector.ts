/** `--selector`, as of kubectl: conditions on labels, separated by commas, all of which must hold. */
import type { LabelCondition } from './label-condition.ts'

const condition =
  /^(?:(?<absent>![^\s!=,()]+)|(?<key>[^\s!=,()]+)(?:\s*(?<operator>==?|!=)\s*(?<value>[^,()]*)|\s+(?<list>in|notin)\s*\((?<values>[^()]*)\))?)$/

/** Characters. */
const longest = 20_000

/** Null: the text is no selector. */
export function parseLabelSelector(text: string): readonly LabelCondition[] | null {
  if (text.length > longest) return null
  const conditions = partsOf(text).map((part) => conditionOf(part.trim()))
  return conditions.every((part) => part !== null) ? conditions : null
}

/** Commas within parentheses separate values. In one pass: a regular expression would look ahead from each comma. */
function partsOf(text: string): string[] {
  const parts = ['']
  let isWithin = false
  for (const piece of text.split(/([,()])/)) {
    if (piece === ',' && !isWithin) {
      parts.push('')
      continue
    }
    if (piece === '(' || piece === ')') isWithin = piece === '('
    parts.push((parts.pop() ?? '') + piece)
  }
  return parts
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
