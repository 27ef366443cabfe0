/** The rules of labels in inputs: of devices and of rollouts. */
import type { Label } from '../../../domain/target.ts'
import type { InputCheck } from './input-check.ts'

const maxLabels = 100

export function checkLabels(
  check: InputCheck,
  path: readonly (string | number)[],
  labels: readonly Label[] | null | undefined,
): void {
  if (!labels) return
  if (labels.length > maxLabels) {
    // Its elements would have as many problems.
    check.add(path, `must have at most ${maxLabels} elements`)
    return
  }
  labels.forEach(({ key, value }, label) => {
    check.name([...path, label, 'key'], key)
    check.text([...path, label, 'value'], value)
  })
  check.unique(
    labels.map((_, label) => [...path, label, 'key']),
    labels.map(({ key }) => key),
    'is a duplicate',
  )
}
