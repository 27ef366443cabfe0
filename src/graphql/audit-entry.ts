/** What the audit log keeps of a mutation's input: enough to see what was done, nothing that is secret, and never much. */

const hidden = /secret|token|password|credential|^url$|^detail$|^document$|^resourceBundleState$/i
const longest = 120
const mostElements = 5
const mostLevels = 4

export function summaryOf(value: unknown, level = 0): unknown {
  if (typeof value === 'string') return value.length > longest ? `${value.slice(0, longest)}…` : value
  if (typeof value !== 'object' || value === null) return value
  if (level === mostLevels) return '…'
  if (Array.isArray(value)) {
    const first = value.slice(0, mostElements).map((element) => summaryOf(element, level + 1))
    return value.length > mostElements ? [...first, `and ${value.length - mostElements} more`] : first
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, hidden.test(key) ? '…' : summaryOf(member, level + 1)]),
  )
}
