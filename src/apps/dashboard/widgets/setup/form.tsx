/** Forms of the set-up. A form says what the server refuses, keeps what was typed, and is emptied after a success. */
import { type ComponentChildren, type ComponentProps, Fragment } from 'preact'
import { useId, useRef, useState } from 'preact/hooks'
import { describeFailure } from '../error-message.tsx'

interface FormProps {
  readonly label: string
  /** `Create webhook` */
  readonly word: string
  /** Returns what went wrong. Null: nothing. */
  readonly submit: (values: FormData) => Promise<string | null>
  readonly cancel?: (() => void) | undefined
  readonly children: ComponentChildren
}

export function Form({ label, word, submit, cancel, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  const [round, setRound] = useState(0)
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (!form.current || isBusy) return
    setIsBusy(true)
    const failure = await submit(new FormData(form.current)).catch(describeFailure)
    setIsBusy(false)
    setProblem(failure)
    if (failure === null) setRound((before) => before + 1)
  }
  return (
    <form ref={form} class="setup-form" aria-label={label} onSubmit={(event) => void send(event)}>
      <Fragment key={round}>{children}</Fragment>
      <p class="trouble-text" role="alert">
        {problem}
      </p>
      <div class="answers">
        {cancel && (
          <button type="button" onClick={cancel}>
            Cancel
          </button>
        )}
        <button type="submit" class="primary" aria-disabled={isBusy}>
          {word}
        </button>
      </div>
    </form>
  )
}

interface Labelled {
  readonly label: string
  readonly hint?: ComponentChildren
}

export function Field({ label, hint, ...input }: Labelled & ComponentProps<'input'>) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input {...input} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      {hint && (
        <small id={`${id}-hint`} class="muted">
          {hint}
        </small>
      )}
    </div>
  )
}

export function TextArea({ label, hint, ...input }: Labelled & ComponentProps<'textarea'>) {
  const id = useId()
  return (
    <div class="field wide">
      <label for={id}>{label}</label>
      <textarea {...input} id={id} aria-describedby={hint ? `${id}-hint` : undefined} />
      {hint && (
        <small id={`${id}-hint`} class="muted">
          {hint}
        </small>
      )}
    </div>
  )
}

interface ChoiceProps extends Labelled {
  readonly name: string
  readonly options: Readonly<Record<string, string>>
  readonly value?: string
  readonly chosen?: (value: string) => void
}

export function Select({ label, hint, name, options, value, chosen }: ChoiceProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        name={name}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onChange={(event) => chosen?.(event.currentTarget.value)}
      >
        {Object.entries(options).map(([key, word]) => (
          <option key={key} value={key} selected={key === value}>
            {word}
          </option>
        ))}
      </select>
      {hint && (
        <small id={`${id}-hint`} class="muted">
          {hint}
        </small>
      )}
    </div>
  )
}

interface CheckProps {
  readonly label: string
  readonly name: string
  readonly value?: string
  readonly defaultChecked: boolean
}

export const Check = ({ label, ...input }: CheckProps) => (
  <label class="check">
    <input type="checkbox" {...input} />
    <span>{label}</span>
  </label>
)

/** Null: empty. */
export const textOf = (values: FormData, name: string): string | null => String(values.get(name) ?? '').trim() || null

export const numberOf = (values: FormData, name: string): number | null => {
  const text = textOf(values, name)
  return text === null ? null : Number(text)
}

export const labelsOf = (values: FormData, name: string): Label[] => parseLabels(textOf(values, name) ?? '')

/** `site=munich, line=3`, or one on each line. */
export function parseLabels(text: string): Label[] {
  return text
    .split(/[,\n]/)
    .map((label) => label.trim())
    .filter((label) => label !== '')
    .map((label) => {
      const [key = '', ...rest] = label.split('=')
      return { key: key.trim(), value: rest.join('=').trim() }
    })
}

export interface Label {
  readonly key: string
  readonly value: string
}

export const writeLabels = (labels: readonly Label[]): string =>
  labels.map(({ key, value }) => `${key}=${value}`).join(', ')
