/** Retired devices return to service. */
import { useState } from 'preact/hooks'
import { type RetiredFilter, reinstateDevices, reinstateSelected } from '../data/actions.ts'
import { plural } from '../data/labels.ts'
import { isOperator } from '../data/viewer.ts'
import { at } from '../route.ts'
import { type Action, Confirmation } from './lists/selection.tsx'

export const reinstating: Action = {
  word: 'Reinstate',
  effect: 'Registered again and back in service. Former tokens stay invalid.',
  reason: 'none',
  run: reinstateDevices,
}

interface ReinstateProps {
  readonly deviceId: string
}

export function Reinstate({ deviceId }: ReinstateProps) {
  const [isAsked, setAsked] = useState(false)
  if (!isOperator.value || at.value !== null) return null
  return (
    <>
      <button type="button" class="quiet" onClick={() => setAsked(true)}>
        Reinstate it…
      </button>
      {isAsked && <Confirmation action={reinstating} ids={[deviceId]} what={deviceId} close={() => setAsked(false)} />}
    </>
  )
}

interface ReinstateAllProps {
  readonly filter: RetiredFilter
  readonly count: number
}

/** All retired devices that a filter selects, also on other pages of their list. */
export function ReinstateAll({ filter, count }: ReinstateAllProps) {
  const [isAsked, setAsked] = useState(false)
  if (!isOperator.value || at.value !== null || count < 2) return null
  const what = `all ${plural(count, 'device')}`
  const action: Action = {
    ...reinstating,
    effect: `${reinstating.effect} Retired devices behind them return too.`,
    run: () => reinstateSelected(filter),
  }
  return (
    <>
      <button type="button" class="quiet" onClick={() => setAsked(true)}>
        Reinstate {what}…
      </button>
      {isAsked && <Confirmation action={action} ids={[]} what={what} close={() => setAsked(false)} />}
    </>
  )
}
