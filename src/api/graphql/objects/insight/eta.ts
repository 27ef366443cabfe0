/** When a rollout will be done. domain/insight/forecast.ts has the method. */
import { DomainError } from '../../../../domain/errors.ts'
import type { ForecastBasis, ForecastReason } from '../../../../domain/insight/forecast.ts'
import { randomFrom } from '../../../../domain/insight/random.ts'
import { forecastRollout } from '../../../../domain/insight/rollout-forecast.ts'
import type { Millis } from '../../../../domain/values.ts'
import type { RolloutRow } from '../../../../store/read/rollouts/rollouts.ts'
import { builder } from '../../builder.ts'
import type { Context } from '../../execution/context.ts'
import { Rollout } from '../refs.ts'

type Reason = ForecastReason | 'HIDDEN' | 'EXPIRED' | 'TOO_LARGE'

interface Eta {
  readonly percent: number
  readonly from: Millis | null
  readonly found:
    | { readonly at: Millis; readonly low: Millis; readonly high: Millis; readonly basis: ForecastBasis }
    | { readonly reason: Reason }
}

const BasisEnum = builder.enumType('EtaBasis', {
  description: 'What a forecast follows from.',
  values: {
    OWN: { description: 'The steps of the rollout itself.' },
    PEERS: { description: 'The steps of earlier rollouts of the application, because too few of its own have ended.' },
    BOTH: { description: 'Its own starts or durations, and those of earlier rollouts for the other.' },
  } satisfies { readonly [Name in ForecastBasis]: { readonly description: string } },
})

const ReasonEnum = builder.enumType('EtaReason', {
  description: 'Why there is no forecast.',
  values: {
    DONE: { description: 'So many deployments are done already.' },
    NOT_STARTED: {
      description: 'No deployment has started, and there are too few earlier rollouts of the application.',
    },
    TOO_FEW: { description: 'Fewer than 10 steps have ended, here and in earlier rollouts of the application.' },
    NO_END: { description: 'It may take longer than 400 days.' },
    EXPIRED: { description: 'The history does not reach back to where open steps began.' },
    TOO_LARGE: {
      description:
        'The rollout has too many changes of state to read: more than 1,000,000, or 100,000 in the embedded database.',
    },
    HIDDEN: { description: "The caller's access scope has labels, so it does not see the whole rollout." },
  } satisfies { readonly [Name in Reason]: { readonly description: string } },
})

const RolloutEta = builder.objectRef<Eta>('RolloutEta').implement({
  access: 'viewer',
  description:
    'A forecast: when so many deployments of a rollout are done, which means not PENDING, INSTALLING or REMOVING. A later retry is not part of it. In back-tests 8 of 10 intervals held the truth.',
  fields: (t) => ({
    at: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'The median: earlier and later are equally likely. Null: see `reason`.',
      resolve: ({ found }) => ('at' in found ? found.at : null),
    }),
    low: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'It is done before this time with a probability of 10 %. Null: see `reason`.',
      resolve: ({ found }) => ('at' in found ? found.low : null),
    }),
    high: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'It is done before this time with a probability of 90 %. Null: see `reason`.',
      resolve: ({ found }) => ('at' in found ? found.high : null),
    }),
    percent: t.exposeFloat('percent', { description: 'The percentage of the deployments that are done then.' }),
    basis: t.field({
      type: BasisEnum,
      nullable: true,
      description: 'What the forecast follows from. Null: see `reason`.',
      resolve: ({ found }) => ('at' in found ? found.basis : null),
    }),
    reason: t.field({
      type: ReasonEnum,
      nullable: true,
      description: 'Why there is no forecast. Null: there is one.',
      resolve: ({ found }) => ('reason' in found ? found.reason : null),
    }),
    from: t.expose('from', {
      type: 'DateTime',
      nullable: true,
      description:
        'The time that the forecast counts from: that of the newest change, as `history.newestTime` has it. Null: see `reason`.',
    }),
  }),
})

builder.objectFields(Rollout, (t) => ({
  eta: t.field({
    type: RolloutEta,
    description: 'When all of its deployments are done.',
    resolve: (row, _, context) => etaOf(row, 100, context),
  }),
  timeTo: t.field({
    type: RolloutEta,
    description: 'When a percentage of its deployments is done.',
    args: { percent: t.arg.float({ required: true, description: 'The percentage: above 0, at most 100.' }) },
    resolve: (row, { percent }, context) => {
      if (percent > 0 && percent <= 100) return etaOf(row, percent, context)
      throw new DomainError('BAD_USER_INPUT', `percent must be above 0 and at most 100, but is ${percent}`)
    },
  }),
}))

/** A forecast takes milliseconds of the processor. It counts like that many rows, so a request has a bounded number of them. */
const rowsOfForecast = 100

async function etaOf(row: RolloutRow, percent: number, { reader, budget }: Context): Promise<Eta> {
  budget.rows(rowsOfForecast)
  const { key, asOf } = row
  const open = await reader()
  const steps = await open.rolloutSteps(key, asOf)
  if (!steps) return { percent, from: null, found: { reason: 'HIDDEN' } }
  const { now, revision } = steps
  const counts = row.counters ?? (await open.deploymentCounts({ of: 'rollout', key }, {}, asOf))
  const none = (reason: Reason): Eta => ({ percent, from: now, found: { reason } })
  if (!counts) return none('TOO_LARGE')
  const found = await open.inTurn(() => forecastRollout(steps, counts, percent, randomFrom(key + revision)))
  if ('reason' in found) return none(found.reason)
  const { at, low, high, basis } = found
  return { percent, from: now, found: { at: now + at, low: now + low, high: now + high, basis } }
}
