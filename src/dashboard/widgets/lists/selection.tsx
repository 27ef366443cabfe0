/** Selected rows, and what the caller may do with them. Each action names the number of rows before it runs. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { formatNumber } from '../../data/labels.ts'
import { isOperator } from '../../data/viewer.ts'

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
  readonly ids: ReadonlySet<string>
  readonly toggle: (id: string) => void
  readonly clear: () => void
}

/** Null: the caller may not change anything. */
export function useSelection(isOn: boolean): Selection | null {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  if (!isOn || !isOperator.value) return null
  return {
    ids,
    toggle: (id) => setIds((known) => known.symmetricDifference(new Set([id]))),
    clear: () => setIds(new Set()),
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
  const [asked, setAsked] = useState<Action | null>(null)
  if (!of || of.ids.size === 0) return null
  return (
    <div class="selection" role="group" aria-label="Selected rows">
      <b class="number" role="status">
        {formatNumber(of.ids.size)} selected
      </b>
      {actions.map((action) => (
        <button key={action.word} type="button" onClick={() => setAsked(action)}>
          {action.word}…
        </button>
      ))}
      <button type="button" class="quiet" onClick={of.clear}>
        Clear
      </button>
      {asked && (
        <Confirmation
          action={asked}
          ids={[...of.ids]}
          what={count(of.ids.size)}
          done={of.clear}
          close={() => setAsked(null)}
        />
      )}
    </div>
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
    const reason = String(new FormData(event.currentTarget as HTMLFormElement).get('reason') ?? '').trim()
    setIsBusy(true)
    const failure = await action.run(ids, reason).catch((error: unknown) => String(error))
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
          <button type="submit" class="primary" disabled={isBusy}>
            {title}
          </button>
        </div>
      </form>
    </dialog>
  )
}
