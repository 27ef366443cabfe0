/** Planted causes are found in random fleets, and nothing is claimed where there is none. */
import { describe, expect, it } from 'vitest'
import { createRandom, type Random } from '../../../src/apps/simulate/random.ts'
import { diagnose as stepsOf } from '../../../src/domain/insight/diagnosis.ts'
import { diagnosisLimits, type Observation, type Problem, type Unlikely } from '../../../src/domain/insight/observed.ts'
import { atOnce } from '../../../src/platform/limits/pace.ts'

type Row = Observation<string>

const parts = ['web', 'db', 'cache'] as const
const traits = { nameOf: (trait: string) => trait, component: (name: string) => `component ${name}` }

interface Device {
  readonly gateway: string
  readonly site: string
  readonly version: string
}

/** Devices behind gateways at four sites, with two versions. `chance`: of a failure. `weight`: of each component to be the one that fails. */
function fleet(
  random: Random,
  size: number,
  chance: (device: Device) => number,
  weight: (part: string) => number = () => 1,
): Row[] {
  return Array.from({ length: size }, (_, index): Row => {
    const gateway = Math.floor(index / 20)
    const device = {
      gateway: `gateway gw-${gateway}`,
      site: `site s-${gateway % 4}`,
      version: `version ${random.chance(0.5) ? 1 : 2}`,
    }
    const problem: Problem | null = random.chance(chance(device)) ? 'FAILED' : random.chance(0.05) ? 'WAITING' : null
    const weights = parts.map(weight)
    let left = random.next() * weights.reduce((sum, one) => sum + one, 0)
    const failing = weights.findIndex((one) => {
      left -= one
      return left < 0
    })
    return {
      n: 1,
      problem,
      traits: [...Object.values(device), `serial ${index}`, `line ${random.index(30)}`],
      error: problem === 'FAILED' ? random.pick(['disk full', 'image pull']) : null,
      components: problem === 'FAILED' ? parts.map((name, at) => ({ name, isAffected: at === failing })) : [],
    }
  })
}

const many = 200
const seedsOf = (test: string) => Array.from({ length: many }, (_, seed) => createRandom(`${test} ${seed}`))
const diagnose = (rows: readonly Row[], of = traits) => atOnce(stepsOf(rows, of))
const failed = (rows: readonly Row[]) => diagnose(rows).find(({ problem }) => problem === 'FAILED')

/** As the database reads them: only traits that have enough affected deployments, and the sizes of the others. */
function withoutRare(rows: readonly Row[]): { rows: Row[]; unlikely: Unlikely[] } {
  const having = (trait: string, problem?: Problem | null) =>
    rows.filter((row) => row.traits.includes(trait) && (problem === undefined || row.problem === problem)).length
  const present = Map.groupBy(rows, ({ problem }) => problem)
  const isLikely = (trait: string) =>
    [...present].some(([problem, own]) => {
      const count = problem === null ? 0 : having(trait, problem)
      return count > 0 && count >= diagnosisLimits.leastShare * own.length
    })
  const names = [...new Set(rows.flatMap((row) => row.traits))]
  const likely = new Set(names.filter(isLikely))
  const sizes = Map.groupBy(
    names.filter((name) => !likely.has(name)),
    (name) => having(name),
  )
  return {
    rows: rows.map((row) => ({ ...row, traits: row.traits.filter((trait) => likely.has(trait)) })),
    unlikely: [...sizes].map(([size, { length: n }]) => ({ size, n })),
  }
}

describe('a diagnosis', () => {
  it.each([
    ['a gateway', 'gateway gw-7', ({ gateway }: Device) => (gateway === 'gateway gw-7' ? 0.9 : 0.01)],
    ['a version', 'version 2', ({ version }: Device) => (version === 'version 2' ? 0.3 : 0.03)],
    ['a site', 'site s-2', ({ site }: Device) => (site === 'site s-2' ? 0.4 : 0.04)],
  ])('finds %s', (_, planted, chance) => {
    for (const random of seedsOf(planted)) {
      const causes = failed(fleet(random, 400, chance))?.causes.map(({ trait }) => trait)
      expect(causes?.[0]).toBe(planted)
    }
  })

  it('reads each component as often in a large fleet as in a small one', () => {
    const readsOf = (size: number): number => {
      let reads = 0
      const part = (name: string, isAffected: boolean) => ({
        get name() {
          reads += 1
          return name
        },
        isAffected,
      })
      const components = (index: number) => [part(`web-${index}`, true), part(`db-${index}`, false)]
      const rows = Array.from(
        { length: size },
        (_, index): Row => ({ n: 1, problem: 'FAILED', traits: [], error: null, components: components(index) }),
      )
      diagnose(rows)
      return reads
    }
    expect(readsOf(400)).toBeLessThanOrEqual(2 * readsOf(200))
  })

  it('finds a component', () => {
    let others = 0
    for (const random of seedsOf('component')) {
      const found = failed(
        fleet(
          random,
          400,
          () => 0.1,
          (part) => (part === 'db' ? 20 : 1),
        ),
      )
      expect(found?.causes[0]?.trait).toBe('component db')
      others += (found?.causes.length ?? 0) - 1
    }
    expect(others).toBeLessThanOrEqual(1)
  })

  it('finds two causes at once, and what they explain together', () => {
    for (const random of seedsOf('two').slice(0, 50)) {
      const rows = fleet(random, 400, ({ gateway }) =>
        gateway === 'gateway gw-3' || gateway === 'gateway gw-8' ? 0.8 : 0.005,
      )
      const found = failed(rows)
      expect(found?.causes.map(({ trait }) => trait).toSorted()).toEqual(['gateway gw-3', 'gateway gw-8'])
      const count = (found?.causes ?? []).reduce((sum, cause) => sum + cause.count, 0)
      expect(found?.explained).toBeCloseTo(count / (found?.count ?? 0))
    }
  })

  it.each([0.02, 0.2, 0.6])('claims nothing where %f of the deployments fail at random', (chance) => {
    const claims = seedsOf(`random ${chance}`)
      .flatMap((random) =>
        diagnose(
          fleet(random, 400, () => chance),
          traits,
        ),
      )
      .filter(({ causes }) => causes.length > 0)
    // A claim in 0.001 of the fleets is expected at most.
    expect(claims.length).toBeLessThanOrEqual(1)
  })

  it('has the numbers that a person would count', () => {
    const row = (n: number, gateway: string, problem: Problem | null): Row => ({
      n,
      problem,
      traits: [gateway, `place of ${gateway}`],
      error: problem && 'disk full',
      components: [],
    })
    const rows = [row(18, 'gw-7', 'FAILED'), row(2, 'gw-7', null), row(2, 'gw-1', 'FAILED'), row(378, 'gw-1', null)]
    expect(diagnose(rows, traits)).toMatchObject([
      {
        problem: 'FAILED',
        count: 20,
        explained: 0.9,
        causes: [
          { trait: 'gw-7', alike: ['place of gw-7'], count: 18, size: 20, share: 0.9, rate: 0.9, restRate: 2 / 380 },
        ],
        errors: [{ trait: 'disk full', count: 20, share: 1 }],
      },
    ])
  })

  it('finds the same if the rows leave out what is too rare for a cause', () => {
    for (const random of seedsOf('rare').slice(0, 50)) {
      const rows = fleet(random, 400, ({ gateway, version }) =>
        gateway === 'gateway gw-3' ? 0.9 : version === 'version 2' ? 0.1 : 0.02,
      )
      const all = diagnose(rows)
      const { rows: shorter, unlikely } = withoutRare(rows)
      expect(unlikely.length).toBeGreaterThan(1)
      const found = atOnce(stepsOf(shorter, traits, unlikely))
      for (const [index, { causes, ...rest }] of found.entries()) {
        expect(rest).toEqual({ ...all[index], causes: undefined })
        // Behind the first cause, the correction has an upper bound of what it would be.
        expect(causes.map(({ pValue, ...cause }) => cause)).toEqual(
          all[index]?.causes.map(({ pValue, ...cause }) => cause),
        )
        expect(Math.min(...causes.map(({ pValue }) => pValue))).toBe(
          Math.min(...(all[index]?.causes ?? []).map(({ pValue }) => pValue)),
        )
      }
    }
  })

  it('compares a cause with the others that no more significant cause explains', () => {
    const row = (n: number, problem: Problem | null, ...own: string[]): Row => ({
      n,
      problem,
      traits: own,
      error: null,
      components: [],
    })
    const rows = [
      ...[row(100, 'FAILED', 'gw-1', 'bonn'), row(20, 'FAILED', 'gw-2', 'kiel'), row(80, null, 'gw-2', 'kiel')],
      row(300, null, 'gw-3', 'bonn'),
    ]
    expect(diagnose(rows)[0]?.causes).toMatchObject([
      { trait: 'gw-1', rate: 1, restRate: 20 / 400 },
      { trait: 'gw-2', alike: ['kiel'], rate: 0.2, restRate: 0, lift: null },
    ])
  })

  it('claims nothing where all deployments are affected, or none', () => {
    const rows = fleet(createRandom('all'), 100, () => 1).map((row) => ({ ...row, components: [] }))
    expect(failed(rows)).toMatchObject({ count: 100, causes: [], explained: 0 })
    expect(diagnose([], traits)).toEqual([])
    expect(
      diagnose(
        rows.map((row) => ({ ...row, problem: null })),
        traits,
      ),
    ).toEqual([])
  })
})

describe('a diagnosis of deployments that share nothing', () => {
  const size = 200
  const row = (index: number): Row => ({
    ...{ n: 1, problem: 'FAILED', error: null },
    traits: Array.from({ length: 10 }, (_, key) => `label ${key} of ${index}`),
    components: [`web-${index}`, `db-${index}`].map((name, at) => ({ name, isAffected: at === 0 })),
  })

  it('pauses after each of them, and after each trait that it compares', () => {
    const steps = stepsOf(
      Array.from({ length: size }, (_, index) => row(index)),
      traits,
    )
    const count = [...steps].length
    expect(count).toBeGreaterThanOrEqual(2 * size)
    const eligible = [...stepsOf([row(1), row(2)], traits)].length
    expect(eligible).toBeGreaterThanOrEqual(2 * 2 + 2 * 10)
  })
})

describe('the cost of a diagnosis', () => {
  it('grows with the labels of the devices once, and not again for each cause', () => {
    const random = createRandom('cost')
    let reads = 0
    const count = <Value>(value: Value): Value => {
      reads += 1
      return value
    }
    const [size, labels] = [2_000, 100]
    const rows = Array.from({ length: size }, (_, index): Row => {
      const problem = random.chance(index % 4 === 0 ? 0.9 : index % 7 === 0 ? 0.7 : 0.05) ? 'FAILED' : null
      const own = Array.from({ length: labels }, (_, label) => `l${label} ${random.index(8)}`)
      return {
        get n() {
          return count(1)
        },
        get problem() {
          return count(problem)
        },
        traits: [`site ${index % 4}`, `line ${index % 7}`, ...own],
        error: null,
        components: [],
      }
    })
    const causes = failed(rows)?.causes ?? []
    expect(causes.map(({ trait }) => trait)).toEqual(expect.arrayContaining(['site 0', 'line 0']))
    // One reading of each label to count it, and one more for each deployment that has the problem or is set aside.
    expect(reads).toBeLessThan(3 * size * labels)
  })
})
