/** Selected rows, and what the caller may do with them. Each action names the number of rows before it runs. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatNumber } from '../../data/labels.ts'
import { isOperator } from '../../data/viewer.ts'
import { describeFailure } from '../error-message.tsx'

export interface Action {
  /** `Remove` */
  readonly word: string
  /** What it does, as a sentence. */
  readonly effect: string
  readonly reason: 'none' | 'optional' | 'required'
  /** Returns what went wrong. Null: nothing. */
  readonly run: (ids: readonly string[], reason: string) => Promise<string | null>
}

export interface Selection {
  /** False: the list is not known yet, so nothing can be selected. */
  readonly isReady: boolean
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
  readonly clear: () => void
}

const none: ReadonlySet<string> = new Set()

interface SelectionOptions {
  readonly isOn: boolean
  /** What the list is about. Nothing is selected in another list. */
  readonly about: string
  /** The rows of the list: an action applies to nothing that has left it. Null: not known yet. */
  readonly listed: readonly string[] | null
}

/** Null: the caller may not change anything. */
export function useSelection({ isOn, about, listed }: SelectionOptions): Selection | null {
  const [selected, setSelected] = useState({ about, ids: none })
  if (!isOn || !isOperator.value) return null
  const chosen = selected.about === about ? selected.ids : none
  const ids = chosen.size === 0 ? none : chosen.intersection(new Set(listed))
  return {
    isReady: listed !== null,
    ids,
    toggle: (id) => setSelected({ about, ids: ids.symmetricDifference(new Set([id])) }),
    clear: () => setSelected({ about, ids: none }),
  }
}

interface BoxProps {
  readonly of: Selection | null
  readonly id: string
  readonly name: string
}

export const SelectBox = ({ of, id, name }: BoxProps) =>
  of && (
    <input
      type="checkbox"
      class="select"
      aria-label={`Select ${name}`}
      checked={of.ids.has(id)}
      disabled={!of.isReady}
      onChange={() => of.toggle(id)}
    />
  )

interface BarProps {
  readonly of: Selection | null
  /** `3 deployments` */
  readonly count: (count: number) => string
  readonly actions: readonly Action[]
}

export function SelectionBar({ of, count, actions }: BarProps) {
  // The rows that were selected when the question was asked, also if one leaves the list meanwhile.
  const [asked, setAsked] = useState<{ readonly action: Action; readonly ids: readonly string[] } | null>(null)
  return (
    <>
      {of && of.ids.size > 0 && (
        <div class="selection" role="group" aria-label="Selected rows">
          <b class="number" role="status">
            {formatNumber(of.ids.size)} selected
          </b>
          {actions.map((action) => (
            <button key={action.word} type="button" onClick={() => setAsked({ action, ids: [...of.ids] })}>
              {action.word}…
            </button>
          ))}
          <button type="button" class="quiet" onClick={of.clear}>
            Clear
          </button>
        </div>
      )}
      {asked && (
        <Confirmation {...asked} what={count(asked.ids.length)} done={() => of?.clear()} close={() => setAsked(null)} />
      )}
    </>
  )
}

interface ConfirmationProps {
  readonly action: Action
  readonly ids: readonly string[]
  /** `3 deployments` */
  readonly what: string
  readonly done?: () => void
  readonly close: () => void
}

export function Confirmation({ action, ids, what, done, close }: ConfirmationProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const [isBusy, setIsBusy] = useState(false)
  useLayoutEffect(() => dialog.current?.showModal(), [])
  const title = `${action.word} ${what}`
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    if (isBusy) return
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason') ?? '').trim()
    setIsBusy(true)
    const failure = await action.run(ids, reason).catch(describeFailure)
    setIsBusy(false)
    setProblem(failure)
    if (failure !== null) return
    dialog.current?.close()
    done?.()
  }
  return (
    <dialog ref={dialog} class="confirmation" aria-labelledby="confirmation" onClose={close}>
      <h2 id="confirmation">{title}?</h2>
      <p>{action.effect}</p>
      <form onSubmit={(event) => void submit(event)}>
        {action.reason !== 'none' && (
          <label>
            Reason{action.reason === 'optional' && ' (optional)'}
            <input type="text" name="reason" maxLength={256} required={action.reason === 'required'} />
          </label>
        )}
        <p class="trouble-text" role="alert">
          {problem}
        </p>
        <div class="answers">
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" aria-disabled={isBusy}>
            {title}
          </button>
        </div>
      </form>
    </dialog>
  )
}
