/** The labels of a rollout. Each leads to the rollouts that have it, and operators change them on the page of the rollout. */
import { useState } from 'preact/hooks'
import { setRolloutLabels } from '../../data/actions.ts'
import { isOperator } from '../../data/viewer.ts'
import { at, href } from '../../route.ts'
import { writeLabel } from '../lists/filters.tsx'
import { Form, type Label, labelsOf, parseLabels, TextArea, writeLabels } from '../setup/form.tsx'

export function LabelLinks({ labels }: { readonly labels: readonly Label[] }) {
  if (labels.length === 0) return null
  return (
    <span class="labels">
      {labels.map(({ key, value }) => (
        <a key={key} class="label" href={href(['rollouts'], { label: writeLabel({ key, value }) })}>
          {key}: {value}
        </a>
      ))}
    </span>
  )
}

interface EditorProps {
  readonly id: string
  readonly labels: readonly Label[]
  /** When the labels were read. */
  readonly revision: string
}

/**
 * The form keeps the labels with which it was opened, and is refused if they have changed since. The line is there without labels too, so nothing below
 * moves when the caller's role is known.
 */
export function RolloutLabels({ id, labels, revision }: EditorProps) {
  const [edited, setEdited] = useState<Omit<EditorProps, 'id'> | null>(null)
  const mayEdit = isOperator.value && at.value === null
  if (edited && mayEdit)
    return (
      <Form
        label="Labels of this rollout"
        word="Save labels"
        submit={async (values) => {
          const problem = await setRolloutLabels(id, labelsOf(values, 'labels'), edited.revision)
          if (problem === null) setEdited(null)
          return problem
        }}
        cancel={() => setEdited(null)}
      >
        <TextArea
          label="Labels"
          name="labels"
          placeholder="team=packaging, ring=canary"
          hint="Separated by commas. Empty: no labels."
          rows={2}
          defaultValue={writeLabels(edited.labels)}
        />
      </Form>
    )
  return (
    <p class="rollout-labels">
      <LabelLinks labels={labels} />
      {mayEdit && (
        <button
          type="button"
          class="quiet"
          disabled={!isWritable(labels)}
          title={
            isWritable(labels) ? undefined : 'A label contains a comma or a space at an end. Use setRolloutLabels.'
          }
          onClick={() => setEdited({ labels, revision })}
        >
          {labels.length > 0 ? 'Edit labels' : 'Add labels'}
        </button>
      )}
    </p>
  )
}

/** Whether the form gives the same labels back. */
const isWritable = (labels: readonly Label[]): boolean =>
  JSON.stringify(parseLabels(writeLabels(labels))) === JSON.stringify(labels.map(({ key, value }) => ({ key, value })))
