/**
 * A session that adds up the rows that the scans of its statements come by, those that a filter removes too, and the rows that all their nodes
 * pass on: a node may sort once, and number the sorted rows once for each row of another.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Session } from '../../../src/store/database.ts'

export function readPlans(session: Session): { readonly session: Session; rows(): number; passed(): number } {
  let [rows, passed] = [0, 0]
  const add = ([answer]: readonly Explained[]): void => {
    const plan = answer?.['QUERY PLAN'][0]?.Plan
    rows += rowsOf(plan)
    passed += passedBy(plan)
  }
  return {
    session: {
      async rows<T extends object>(query: SQL) {
        add(await session.rows<Explained>(sql`explain (analyze, format json) ${query}`))
        return session.rows<T>(query)
      },
      async run<T extends object>(text: string, parameters: readonly unknown[] = []) {
        add(await session.run<Explained>(`explain (analyze, format json) ${text}`, parameters))
        return session.run<T>(text, parameters)
      },
    },
    rows: () => rows,
    passed: () => passed,
  }
}

interface Explained {
  readonly 'QUERY PLAN': readonly { readonly Plan: PlanNode }[]
}

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

function rowsOf(node: PlanNode | undefined): number {
  if (!node) return 0
  const below = (node.Plans ?? []).reduce((sum, child) => sum + rowsOf(child), 0)
  // A bitmap of an index costs little for each entry.
  const own =
    node['Node Type'].includes('Scan') && node['Node Type'] !== 'Bitmap Index Scan'
      ? (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
      : 0
  return own + below
}

function passedBy(node: PlanNode | undefined): number {
  if (!node) return 0
  return (node.Plans ?? []).reduce((sum, child) => sum + passedBy(child), node['Actual Rows'] * node['Actual Loops'])
}
