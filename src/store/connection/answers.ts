/** Reads the answers to the statements of one connection, row by row. */
import type postgres from 'postgres'
import { storableParameters } from './column-parsers.ts'
import { heldTexts, tooManyTexts } from './held-texts.ts'
import { countingParsers, mostCharacters, noteCharacters, tooMuchText } from './reading.ts'
import { asObjects, type Row } from './row-objects.ts'

interface Answers {
  /** For the client of the connection. */
  readonly types: Record<string, postgres.PostgresType>
  read<T extends object>(client: postgres.Sql, statement: Statement): Promise<T[]>
}

interface Statement {
  readonly text: string
  readonly parameters: readonly unknown[]
  readonly prepare: boolean
}

/** The server is not stopped at once, because to cancel a statement costs the connection, which may be that of a shared snapshot. */
const mostIgnored = 4 * mostCharacters

/** `isBounded`: an answer of more than `mostCharacters` (reading.ts) is refused. `stop`: it is much longer. */
export function createAnswers(isBounded: boolean, stop: () => void): Answers {
  /** Of the row that is being parsed. */
  let characters = 0
  const counting = countingParsers((read) => {
    characters += read
  })
  const types = Object.fromEntries(
    Object.entries(counting).map(([oid, parse]) => [
      `t${oid}`,
      { to: Number(oid), from: [Number(oid)], parse, serialize: String },
    ]),
  )
  const most = isBounded ? mostCharacters : Number.POSITIVE_INFINITY

  return {
    types,
    async read<T extends object>(client: postgres.Sql, { text, parameters, prepare }: Statement) {
      const query = client.unsafe<Row[]>(text, storableParameters(parameters) as postgres.ParameterOrJSON<never>[], {
        prepare,
      })
      const rows: Row[] = []
      const held = heldTexts.hold()
      let read = 0
      let isRefused = false
      const take = (row: Row): void => {
        read += characters
        if (isBounded && !held.add(characters)) isRefused = true
        characters = 0
        if (read <= most && !isRefused) rows.push(row)
        else {
          rows.length = 0
          held.release()
        }
        if (isBounded && read > mostIgnored) stop()
      }
      try {
        // It returns the query itself.
        query.values()
        const { columns } = await query.forEach(take)
        if (read > most) throw tooMuchText()
        if (isRefused) throw tooManyTexts()
        const objects = asObjects<T>(columns, rows)
        noteCharacters(objects, read)
        return objects
      } catch (error) {
        throw read > most ? tooMuchText() : error
      } finally {
        held.release()
        rows.length = 0
        Object.assign(query, spent)
      }
    },
  }
}

/**
 * What an answered query of postgres.js no longer needs. V8 creates a function that is assigned to a property, like its `resolve`, among the old
 * objects. So the query, and all that it holds, would stay in memory until the next full garbage collection.
 */
const spent = { args: [], parameters: [], forEachFn: null }
