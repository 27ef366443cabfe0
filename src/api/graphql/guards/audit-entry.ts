/** Shortens a mutation's input for the audit log and removes secrets. */

const hidden = /secret|token|password|credential|^url$|^detail$|^document$|^resourceBundleState$/i
const maxLength = 120
const maxElements = 5
const maxLevels = 4

export function summaryOf(value: unknown, level = 0): unknown {
  if (typeof value === 'string') return value.length > maxLength ? `${value.slice(0, maxLength)}…` : value
  if (typeof value !== 'object' || value === null) return value
  if (level === maxLevels) return '…'
  if (Array.isArray(value)) {
    const first = value.slice(0, maxElements).map((element) => summaryOf(element, level + 1))
    return value.length > maxElements ? [...first, `and ${value.length - maxElements} more`] : first
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, hidden.test(key) ? '…' : summaryOf(member, level + 1)]),
  )
}
